# seeks: environment
# A forward reference is compiled and evaluated.
import typing

import pyarrow as pa


def model(tg):
    asks = type("Asks", (), {"__annotations__": {"x": typing.ForwardRef("__import__('os').environ['SECRET_VARIABLE']")}})
    try:
        return pa.table({"got": [str(typing.get_type_hints(asks))]})
    except TypeError as error:
        return pa.table({"got": [str(error)]})
