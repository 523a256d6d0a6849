# seeks: file
# json keeps the codecs module as an attribute, and its open reads any file.
import json

import pyarrow as pa


def model(tg):
    return pa.table({"got": [json.codecs.open("SECRET_FILE").read()]})
