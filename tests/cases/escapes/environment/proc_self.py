# seeks: environment
# The environment that the process was started with, as the kernel keeps it.
# sample: yes
import pyarrow as pa


def model(tg):
    lines = open("/proc/self/environ").read().split("\0")
    return pa.table({"got": [line for line in lines if line.startswith("SECRET_VARIABLE=")] or ["nothing"]})
