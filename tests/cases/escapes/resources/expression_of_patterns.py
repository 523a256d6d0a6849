# seeks: none
# A pattern that is tried in more ways than there are atoms.
# check: accepts
import re

import pyarrow as pa


def model(tg):
    return pa.table({"got": [bool(re.fullmatch("(a+)+b", "a" * 60))]})
