# seeks: environment
# pandas unpickles, from memory as well.
import io

import pandas as pd


def model(tg):
    return pd.DataFrame({"got": [pd.read_pickle(io.BytesIO(b"cos\ngetenv\n(VSECRET_VARIABLE\ntR."))]})
