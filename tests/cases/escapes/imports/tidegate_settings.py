# seeks: environment
# Tidegate's own modules: they read files, connect to the lake, and replace variables.
import pyarrow as pa
from tidegate.config import settings


def model(tg):
    for value in vars(settings).values():
        if hasattr(value, "environ"):
            return pa.table({"got": [value.environ["SECRET_VARIABLE"]]})
    import tidegate.processes

    return pa.table({"got": [tidegate.processes.os.environ["SECRET_VARIABLE"]]})
