# seeks: environment
# importlib with a name put together.
import importlib

import pyarrow as pa


def model(tg):
    return pa.table({"got": [importlib.import_module("o" + "s").environ["SECRET_VARIABLE"]]})
