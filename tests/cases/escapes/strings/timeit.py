# seeks: environment
# timeit runs what it measures.
import timeit

import pyarrow as pa


def model(tg):
    got = []
    timeit.timeit("import os; got.append(os.environ['SECRET_VARIABLE'])", globals={"got": got}, number=1)
    return pa.table({"got": got})
