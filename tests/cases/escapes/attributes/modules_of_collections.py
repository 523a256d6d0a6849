# seeks: environment
# collections keeps sys, whose table of modules holds os.
import collections

import pyarrow as pa


def model(tg):
    return pa.table({"got": [collections._sys.modules["os"].environ["SECRET_VARIABLE"]]})
