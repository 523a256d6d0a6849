# seeks: file
# Paths read and write.
from pathlib import Path

import pyarrow as pa


def model(tg):
    return pa.table({"got": [Path("SECRET_FILE").read_text()]})
