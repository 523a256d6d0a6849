# seeks: network
# An address by the standard library.
import urllib.request

import pyarrow as pa


def model(tg):
    return pa.table({"got": [urllib.request.urlopen("http://127.0.0.1:SECRET_PORT/x", timeout=3).read().decode()]})
