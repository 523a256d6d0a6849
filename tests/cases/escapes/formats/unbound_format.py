# seeks: environment
# The method of the class, with the text as an argument that is put together.
import pandas as pd


def model(tg):
    text = "{0." + ".".join(["io", "common", "os", "environ"]) + "[SECRET_VARIABLE]}"
    return pd.DataFrame({"got": [str.format(text, pd)]})
