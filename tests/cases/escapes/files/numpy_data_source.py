# seeks: network
# numpy fetches what lies behind an address.
import numpy as np
import pyarrow as pa


def model(tg):
    return pa.table({"got": [np.lib.npyio.DataSource(None).open("http://127.0.0.1:SECRET_PORT/x").read()]})
