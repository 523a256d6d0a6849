# seeks: file
# dataclasses imports inspect, which gives frames, stacks and sources.
import dataclasses

import pyarrow as pa


def model(tg):
    frame = dataclasses.inspect.currentframe()
    return pa.table({"got": [frame.f_builtins["open"]("SECRET_FILE").read()]})
