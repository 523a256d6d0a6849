# seeks: file
# A loader of files among all classes.
import pyarrow as pa


def model(tg):
    for found in object.__subclasses__():
        if found.__name__ == "FileLoader":
            return pa.table({"got": [found.get_data(None, "SECRET_FILE").decode()]})
