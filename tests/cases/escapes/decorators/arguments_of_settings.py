# seeks: file
# The decorator of settings takes literals; this one is computed when the module is loaded, by whoever loads it.
import pyarrow as pa
from tidegate import tg


got = []


@tg.model(unique_key=[got.append(open("SECRET_FILE").read()) or "got"])
def model(tg):
    return pa.table({"got": got})
