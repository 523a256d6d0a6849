# seeks: file
# The code of a generator, given other names, becomes a function that opens.
# sample: yes
import json

import pyarrow as pa


def model(tg):
    def reads(path):
        return nothing(path).read()

    reads.__code__ = reads.__code__.replace(co_names=("open", "read"))
    return pa.table({"got": [reads("SECRET_FILE")]})
