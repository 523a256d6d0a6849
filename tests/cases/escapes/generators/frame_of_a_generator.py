# seeks: file
# A generator keeps its frame.
import pyarrow as pa


def model(tg):
    numbers = (number for number in [1])
    return pa.table({"got": [numbers.gi_frame.f_builtins["open"]("SECRET_FILE").read()]})
