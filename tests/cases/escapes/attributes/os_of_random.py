# seeks: environment
# random keeps os under a private name.
import random

import pyarrow as pa


def model(tg):
    return pa.table({"got": [random._os.environ["SECRET_VARIABLE"]]})
