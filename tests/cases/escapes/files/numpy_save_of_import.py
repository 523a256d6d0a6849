# seeks: write
# A function of numpy imported under another name.
import pyarrow as pa
from numpy import savetxt as keep


def model(tg):
    keep("OUTSIDE_FILE", [1, 2])
    return pa.table({"got": ["written"]})
