# seeks: environment
# pyarrow keeps os in its own namespace.
import pyarrow as pa


def model(tg):
    return pa.table({"got": [(getattr(pa, "os", None) or pa._os).environ["SECRET_VARIABLE"]]})
