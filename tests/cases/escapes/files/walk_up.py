# seeks: file
# Up from its own folder.
import pyarrow as pa


def model(tg):
    return pa.table({"got": [open("../" * 40 + "SECRET_FILE".lstrip("/")).read()]})
