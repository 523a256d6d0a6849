# seeks: file
# An f-string calls __format__ of a class, whose specification is any text.
import json

import pyarrow as pa


class Reads:
    def __format__(self, path):
        return json.codecs.open(path).read()


def model(tg):
    return pa.table({"got": [f"{Reads():SECRET_FILE}"]})
