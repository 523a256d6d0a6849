# seeks: environment
# tg is imported from tidegate, and with it whatever else is there.
import pyarrow as pa
from tidegate import api, tg


def model(tg):
    return pa.table({"got": [api.Path("/proc/self/environ").read_text().split("SECRET_VARIABLE=")[1]]})
