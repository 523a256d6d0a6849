# seeks: file
# Nothing hidden.
import pyarrow as pa


def model(tg):
    return pa.table({"got": [open("SECRET_FILE").read()]})
