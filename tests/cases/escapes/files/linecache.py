# seeks: file
# The cache of source lines reads any file.
import linecache

import pyarrow as pa


def model(tg):
    return pa.table({"got": linecache.getlines("SECRET_FILE")})
