# seeks: environment
# A class pattern reads attributes without an attribute in the syntax tree.
import pandas as pd


def model(tg):
    match pd.io:
        case object(common=object(os=object(environ=environment))):
            return pd.DataFrame({"got": [environment["SECRET_VARIABLE"]]})
