# seeks: file
# subprocess is loaded by some library: Popen is a class like others.
import pyarrow as pa


def model(tg):
    for found in object.__subclasses__():
        if found.__name__ == "Popen":
            return pa.table({"got": [found(["cat", "SECRET_FILE"], stdout=-1).communicate()[0].decode()]})
