# seeks: file
# Another name for the same inode.
import os

import pyarrow as pa


def model(tg):
    os.link("SECRET_FILE", "link")
    return pa.table({"got": [open("link").read()]})
