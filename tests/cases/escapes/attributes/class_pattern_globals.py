# seeks: file
# A class pattern for the globals of a function, and a mapping pattern for what is in them.
# sample: yes
import json

import pyarrow as pa


def model(tg):
    match json.dumps:
        case object(__globals__={"__builtins__": {"open": opened}}):
            return pa.table({"got": [opened("SECRET_FILE").read()]})
