# seeks: file
# marshal turns bytes into code, and types turns code into a function.
import marshal
import types

import pyarrow as pa


def model(tg):
    code = marshal.loads(marshal.dumps((lambda: open("SECRET_FILE").read()).__code__))
    return pa.table({"got": [types.FunctionType(code, {})()]})
