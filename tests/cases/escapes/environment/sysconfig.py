# seeks: environment
# A module of the standard library that reads variables into its own names.
import sysconfig

import pyarrow as pa


def model(tg):
    return pa.table({"got": [sysconfig.os.environ["SECRET_VARIABLE"]]})
