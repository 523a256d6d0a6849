# seeks: file
# Arrow opens files in C++, past Python's open.
# sample: yes
import pyarrow as pa


def model(tg):
    return pa.table({"got": [pa.OSFile("SECRET_FILE").read().decode()]})
