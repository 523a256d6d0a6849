# seeks: environment
# typing evaluates annotations that are texts.
import typing

import pyarrow as pa


def model(tg):
    def asked(x: "__import__('os').environ['SECRET_VARIABLE']"): ...

    try:
        return pa.table({"got": [str(typing.get_type_hints(asked))]})
    except TypeError as error:
        return pa.table({"got": [str(error)]})
