# seeks: file
# And maps them.
import pyarrow as pa


def model(tg):
    return pa.table({"got": [pa.memory_map("SECRET_FILE").read().decode()]})
