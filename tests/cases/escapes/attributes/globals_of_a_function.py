# seeks: file
# A function of a library knows the globals of its module, and those the builtins.
import pandas as pd


def model(tg):
    builtins = pd.read_csv.__globals__["__builtins__"]
    return pd.DataFrame({"got": [builtins["open"]("SECRET_FILE").read()]})
