# seeks: file
# Code of a text that is turned around by a codec.
import codecs

import pyarrow as pa


def model(tg):
    names = {}
    exec(compile(codecs.decode("tbg = bcra('%f').ernq()", "rot13") % "SECRET_FILE", "x", "exec"), names)
    return pa.table({"got": [names["got"]]})
