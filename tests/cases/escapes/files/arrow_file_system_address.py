# seeks: file
# The file system that an address names.
import pyarrow as pa
import pyarrow.fs


def model(tg):
    found, path = pyarrow.fs.FileSystem.from_uri("file://SECRET_FILE")
    return pa.table({"got": [found.open_input_stream(path).read().decode()]})
