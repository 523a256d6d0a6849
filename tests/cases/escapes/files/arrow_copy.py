# seeks: write
# Arrow copies files.
import pyarrow as pa
from pyarrow import fs


def model(tg):
    fs.copy_files("SECRET_FILE", "OUTSIDE_FILE", fs.LocalFileSystem(), fs.LocalFileSystem())
    return pa.table({"got": ["copied"]})
