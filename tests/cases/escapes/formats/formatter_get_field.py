# seeks: file
# The Formatter of string gives the object itself, not its text.
# sample: yes
import json
import string

import pyarrow as pa


def model(tg):
    opened, _ = string.Formatter().get_field("0.codecs.open", [json], {})
    return pa.table({"got": [opened("SECRET_FILE").read()]})
