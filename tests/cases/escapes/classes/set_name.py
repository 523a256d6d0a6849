# seeks: file
# The attribute of a class is told its name and its class.
import json

import pyarrow as pa

got = []


class Told:
    def __set_name__(self, owner, name):
        got.append(owner.opens(owner.path).read())


class Owner:
    opens = json.codecs.open
    path = "SECRET_FILE"
    told = Told()


def model(tg):
    return pa.table({"got": got})
