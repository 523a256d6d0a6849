# seeks: file
# The result has a method that whoever takes the rows calls: in the parent, if the object gets there.
import json

import pyarrow as pa


class Rows:
    def __arrow_c_stream__(self, requested_schema=None):
        return pa.table({"got": [json.codecs.open("SECRET_FILE").read()]}).__arrow_c_stream__(requested_schema)


def model(tg):
    return Rows()
