# seeks: file
# The root and the working folder of another process.
import os

import pyarrow as pa


def model(tg):
    got = []
    for process in (1, os.getppid(), VICTIM_PID, "self", "thread-self"):
        for root in ("root", "cwd"):
            try:
                got.append(open(f"/proc/{process}/{root}SECRET_FILE").read())
            except OSError as error:
                got.append(str(error.errno))
    return pa.table({"got": got})
