# seeks: file
# Underscores of other shapes are underscores, too.
import json

import pyarrow as pa


def model(tg):
    return pa.table({"got": [json._︳loader_︳.get_data("SECRET_FILE").decode()]})
