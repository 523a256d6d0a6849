# seeks: write
# The folder that all processes share.
import pyarrow as pa
import tempfile


def model(tg):
    with open("OUTSIDE_FILE", "w") as file:
        file.write(tempfile.gettempdir())
    return pa.table({"got": ["written"]})
