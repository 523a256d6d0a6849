# seeks: parent
# A process that leaves its group and its session, and has no parent any more; the harness looks for its name.
# sample: yes
import os
import time

import pyarrow as pa


def model(tg):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            with open("/proc/self/comm", "w") as file:
                file.write("LEFT_BEHIND")
            time.sleep(120)
        os._exit(0)
    return pa.table({"got": ["left"]})
