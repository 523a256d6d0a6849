# seeks: none
# Processes that fork, up to a number that a machine survives.
# sample: yes
import os
import time

import pyarrow as pa


def model(tg):
    number = 0
    for _ in range(300):
        if os.fork() == 0:
            time.sleep(30)
            os._exit(0)
        number += 1
    return pa.table({"got": [number]})
