# seeks: file
# The file system of this machine.
import pyarrow as pa
from pyarrow import fs


def model(tg):
    return pa.table({"got": [fs.LocalFileSystem().open_input_stream("SECRET_FILE").read().decode()]})
