# seeks: file
# The module below os.
# sample: yes
import posix

import pyarrow as pa


def model(tg):
    return pa.table({"got": [posix.read(posix.open("SECRET_FILE", 0), 4096).decode()]})
