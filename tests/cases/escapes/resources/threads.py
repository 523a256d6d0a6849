# seeks: none
# Threads.
import threading
import time

import pyarrow as pa


def model(tg):
    for _ in range(500):
        threading.Thread(target=time.sleep, args=(30,), daemon=True).start()
    return pa.table({"got": [threading.active_count()]})
