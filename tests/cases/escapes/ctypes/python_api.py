# seeks: environment
# The interpreter's own functions run a text.
import ctypes

import pyarrow as pa

got = []


def model(tg):
    import builtins

    builtins.got = got
    ctypes.pythonapi.PyRun_SimpleString(b"import os; got.append(os.environ['SECRET_VARIABLE'])")
    return pa.table({"got": got or ["nothing"]})
