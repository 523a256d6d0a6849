# seeks: environment
# Python reads letters of other widths as the plain ones, in names.
import pandas as pd


def model(tg):
    return pd.DataFrame({"got": [pd.io.common.ｏｓ.ｅｎｖｉｒｏｎ["SECRET_VARIABLE"]]})
