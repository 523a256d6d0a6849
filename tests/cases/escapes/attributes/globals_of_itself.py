# seeks: file
# The model's own function has globals, too.
import pyarrow as pa


def model(tg):
    found = model.__globals__["__builtins__"]
    opened = found["open"] if isinstance(found, dict) else found.open
    return pa.table({"got": [opened("SECRET_FILE").read()]})
