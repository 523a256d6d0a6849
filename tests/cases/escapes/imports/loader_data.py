# seeks: file
# The loader of a package gives the data of any path.
import json

import pyarrow as pa


def model(tg):
    return pa.table({"got": [json.__loader__.get_data("SECRET_FILE").decode()]})
