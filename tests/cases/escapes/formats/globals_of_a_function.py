# seeks: environment
# From a function to its globals, by indexes of the replacement field.
import random

import pyarrow as pa


def model(tg):
    field = "{0.seed.__globals__[_os].environ[SECRET_VARIABLE]}"
    return pa.table({"got": [field.format(random.Random)]})
