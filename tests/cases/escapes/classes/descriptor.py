# seeks: environment
# A property whose getter is a function of another module.
import random

import pyarrow as pa


class Reads(str):
    value = property(random._os.getenv)


def model(tg):
    return pa.table({"got": [Reads("SECRET_VARIABLE").value]})
