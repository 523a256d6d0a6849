# seeks: environment
# The function behind the statement.
import pyarrow as pa


def model(tg):
    return pa.table({"got": [__import__("os").environ["SECRET_VARIABLE"]]})
