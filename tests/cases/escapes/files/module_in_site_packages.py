# seeks: write
# A module that the next process imports.
import pyarrow as pa


def model(tg):
    path = pa.__file__.replace("__init__.py", "tidegate_planted.py")
    with open(path, "w") as file:
        file.write("")
    with open("OUTSIDE_FILE", "w") as file:
        file.write(path)
    return pa.table({"got": ["written"]})
