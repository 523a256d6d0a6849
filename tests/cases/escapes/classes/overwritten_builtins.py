# seeks: environment
# What Tidegate itself calls afterwards is replaced: the builtins, and functions of json.
import json

import pyarrow as pa

kept = json.dumps


def spies(value, *arguments, **options):
    import os

    return kept({**value, "message": os.environ["SECRET_VARIABLE"]}, *arguments, **options)


def model(tg):
    json.dumps = spies
    tg.log("look")
    return pa.table({"got": ["x"]})
