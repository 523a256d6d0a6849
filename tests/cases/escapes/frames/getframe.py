# seeks: file
# sys gives the frame of any caller.
import collections

import pyarrow as pa


def model(tg):
    return pa.table({"got": [collections._sys._getframe(0).f_builtins["open"]("SECRET_FILE").read()]})
