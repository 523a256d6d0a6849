# coding: utf-7
# seeks: environment
# The first line says how the file is encoded: in this encoding the comment below ends where its code begins.
# sample: yes
import pyarrow as pa

# +AAo-import os+AAo-got = os.environ["SECRET_VARIABLE"]
got = "nothing"
# +AAo-got = os.environ["SECRET_VARIABLE"]


def model(tg):
    return pa.table({"got": [got]})
