# seeks: environment
# Paths are expanded by the variables that they name; the error shows the path.
import pandas as pd


def model(tg):
    pd.read_csv(pd.io.common.os.path.expandvars("/nothing/$SECRET_VARIABLE"))
