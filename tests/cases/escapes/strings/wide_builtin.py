# seeks: environment
# The builtin in italics.
import pyarrow as pa


def model(tg):
    return pa.table({"got": [𝘦𝘷𝘢𝘭("_" + "_import__('os').environ['SECRET_VARIABLE']")]})
