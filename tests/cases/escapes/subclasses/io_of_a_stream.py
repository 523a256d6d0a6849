# seeks: file
# The classes of io, reached from a stream in memory.
import io

import pyarrow as pa


def model(tg):
    raw = [found for found in type(io.StringIO()).__mro__[2].__subclasses__() if found.__name__ == "_RawIOBase"][0]
    return pa.table({"got": [raw.__subclasses__()[0]("SECRET_FILE").read().decode()]})
