# seeks: environment
# The plain one.
import pyarrow as pa


def model(tg):
    return pa.table({"got": [eval("__import__('os').environ['SECRET_VARIABLE']")]})
