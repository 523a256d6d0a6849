# seeks: file
# What others have open.
import os

import pyarrow as pa


def model(tg):
    got = []
    for number in range(32):
        try:
            got.append(os.readlink(f"/proc/VICTIM_PID/fd/{number}"))
            if got[-1] == "SECRET_FILE":
                got.append(open(f"/proc/VICTIM_PID/fd/{number}").read(1000))
        except OSError as error:
            got.append(str(error.errno))
    return pa.table({"got": got})
