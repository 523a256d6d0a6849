# seeks: file
# operator calls a method by its name.
import json
import operator

import pyarrow as pa


def model(tg):
    codecs = operator.attrgetter("codecs")(json)
    return pa.table({"got": [operator.methodcaller("open", "SECRET_FILE")(codecs).read()]})
