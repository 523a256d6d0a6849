# seeks: file
# A function that takes a path, a buffer or a file.
import pyarrow as pa


def model(tg):
    return pa.table({"got": [pa.input_stream("SECRET_FILE").read().decode()]})
