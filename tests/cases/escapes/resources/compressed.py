# seeks: none
# A few bytes that become many.
# check: accepts
import pyarrow as pa
import zlib


def model(tg):
    packed = zlib.compress(bytes(1 << 28), 9)
    return pa.table({"got": [len([zlib.decompress(packed) for _ in range(20)])]})
