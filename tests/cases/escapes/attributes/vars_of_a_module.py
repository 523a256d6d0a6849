# seeks: environment
# vars gives the names of a module as a dictionary.
import pandas as pd


def model(tg):
    common = vars(pd.io)["common"]
    return pd.DataFrame({"got": [vars(common)["os"].environ["SECRET_VARIABLE"]]})
