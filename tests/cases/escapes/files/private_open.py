# seeks: file
# A file that only its owner may read.
import pyarrow as pa


def model(tg):
    return pa.table({"got": [open("PRIVATE_FILE").read()]})
