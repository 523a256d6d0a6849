# seeks: environment
# An object column: what serializes it may call its hooks, what reads it may unpickle.
import pandas as pd


class Reduced:
    def __reduce__(self):
        return pd.io.common.os.getenv, ("SECRET_VARIABLE",)


def model(tg):
    return pd.DataFrame({"got": [Reduced()]})
