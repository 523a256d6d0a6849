# seeks: parent
# A signal to a process outside.
import os

import pyarrow as pa


def model(tg):
    os.kill(VICTIM_PID, 9)
    return pa.table({"got": ["killed"]})
