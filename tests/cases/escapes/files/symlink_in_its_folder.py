# seeks: file
# A link in the folder that it may write, to the file that it may not read.
import os

import pyarrow as pa


def model(tg):
    os.symlink("SECRET_FILE", "link")
    return pa.table({"got": [open("link").read()]})
