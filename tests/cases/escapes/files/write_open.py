# seeks: write
# A file outside of its own folder.
import pyarrow as pa


def model(tg):
    with open("OUTSIDE_FILE", "w") as file:
        file.write("x")
    return pa.table({"got": ["written"]})
