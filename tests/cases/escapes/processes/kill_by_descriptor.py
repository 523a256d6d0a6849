# seeks: parent
# A signal by a descriptor of the process, and to one of its threads.
import os
import signal

import pyarrow as pa


def model(tg):
    signal.pidfd_send_signal(os.pidfd_open(VICTIM_PID), signal.SIGKILL)
    return pa.table({"got": ["killed"]})
