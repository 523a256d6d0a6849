# seeks: file
# A builtin function is bound to the module of all builtins.
import pyarrow as pa


def model(tg):
    return pa.table({"got": [print.__self__.open("SECRET_FILE").read()]})
