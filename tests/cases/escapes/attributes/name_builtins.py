# seeks: file
# The name that each module has, without an attribute.
import pyarrow as pa


def model(tg):
    opened = __builtins__["open"] if isinstance(__builtins__, dict) else __builtins__.open
    return pa.table({"got": [opened("SECRET_FILE").read()]})
