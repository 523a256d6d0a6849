# seeks: write
# __del__ runs when the object goes, after the model has ended.
import json


class Last:
    opens = json.codecs.builtins.open

    def __del__(self):
        with self.opens("OUTSIDE_FILE", "w") as file:
            file.write("x")


last = Last()


def model(tg):
    import pyarrow as pa

    return pa.table({"got": ["x"]})
