# seeks: file
# Statistics of memory show source lines.
import pyarrow as pa
import tracemalloc


def model(tg):
    frame = tracemalloc.Frame(("SECRET_FILE", 1))
    return pa.table({"got": tracemalloc.Traceback([("SECRET_FILE", 1)]).format() + [str(frame)]})
