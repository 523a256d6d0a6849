# seeks: file
# A function chosen by the class of its argument: the registered one is open.
import functools
import json

import pyarrow as pa


@functools.singledispatch
def reads(thing): ...


reads.register(str, json.codecs.open)


def model(tg):
    return pa.table({"got": [reads("SECRET_FILE").read()]})
