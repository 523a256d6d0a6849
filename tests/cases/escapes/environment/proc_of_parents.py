# seeks: environment
# That of the processes above it, and of a process of the same user.
import os

import pyarrow as pa


def model(tg):
    got = []
    for process in (os.getppid(), 1, VICTIM_PID):
        try:
            lines = open(f"/proc/{process}/environ").read().split("\0")
            got += [line for line in lines if line.startswith("SECRET_VARIABLE=")]
        except OSError as error:
            got.append(str(error.errno))
    return pa.table({"got": got})
