# seeks: environment
# copy calls what __reduce__ names; the function comes from a module that has imported it.
import copy
import random

import pyarrow as pa


class Reduced:
    def __reduce__(self):
        return random._os.getenv, ("SECRET_VARIABLE",)


def model(tg):
    return pa.table({"got": [copy.copy(Reduced())]})
