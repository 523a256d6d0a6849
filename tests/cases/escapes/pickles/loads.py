# seeks: environment
# A pickle calls what it names.
import pickle

import pyarrow as pa


def model(tg):
    return pa.table({"got": [pickle.loads(b"cos\ngetenv\n(VSECRET_VARIABLE\ntR.")]})
