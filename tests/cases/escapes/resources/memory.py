# seeks: none
# More memory than it may have.
# check: accepts
import pyarrow as pa


def model(tg):
    held = [bytearray(1 << 26) for _ in range(60)]
    return pa.table({"got": [len(held)]})
