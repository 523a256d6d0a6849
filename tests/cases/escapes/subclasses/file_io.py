# seeks: file
# The raw file is a subclass of a subclass.
# sample: yes
import pyarrow as pa


def model(tg):
    waiting = [object]
    while waiting:
        for found in type.__subclasses__(waiting.pop()):
            if found.__name__ == "FileIO":
                return pa.table({"got": [found("SECRET_FILE").read().decode()]})
            if found is not type:
                waiting.append(found)
