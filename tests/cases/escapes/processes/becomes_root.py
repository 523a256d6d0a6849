# seeks: file
# It asks to be somebody else again.
import os

import pyarrow as pa


def model(tg):
    said = []
    for call in (lambda: os.setresuid(0, 0, 0), lambda: os.setresgid(0, 0, 0), lambda: os.setgroups([0])):
        try:
            said.append(str(call()))
        except OSError as error:
            said.append(str(error.errno))
    return pa.table({"got": [*said, open("PRIVATE_FILE").read()]})
