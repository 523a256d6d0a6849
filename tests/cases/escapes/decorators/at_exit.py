# seeks: write
# What is registered for the end of the process runs when nobody looks any more.
import atexit

import pyarrow as pa


@atexit.register
def writes():
    with open("OUTSIDE_FILE", "w") as file:
        file.write("x")


def model(tg):
    return pa.table({"got": ["x"]})
