# seeks: file
# enum keeps builtins under a short name of its own.
import enum

import pyarrow as pa


def model(tg):
    return pa.table({"got": [enum.bltns.open("SECRET_FILE").read()]})
