# seeks: environment
# A replacement field follows attributes and items.
import pandas as pd


def model(tg):
    return pd.DataFrame({"got": ["{0.io.common.os.environ[SECRET_VARIABLE]}".format(pd)]})
