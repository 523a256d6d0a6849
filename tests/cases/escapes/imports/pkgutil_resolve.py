# seeks: environment
# pkgutil resolves a dotted name.
import pkgutil

import pyarrow as pa


def model(tg):
    return pa.table({"got": [pkgutil.resolve_name("os:environ")["SECRET_VARIABLE"]]})
