# seeks: file
# The function below subprocess.
import _posixsubprocess
import os

import pyarrow as pa


def model(tg):
    read, write = os.pipe()
    failed = os.pipe()
    _posixsubprocess.fork_exec(
        [b"/bin/cat", b"SECRET_FILE"], [b"/bin/cat"], True, (failed[1],), None, None, -1, -1, -1, write, -1, -1,
        failed[0], failed[1], False, False, -1, None, None, None, -1, None, False,
    )
    os.close(write)
    return pa.table({"got": [os.read(read, 4096).decode()]})
