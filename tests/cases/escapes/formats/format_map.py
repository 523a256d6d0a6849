# seeks: environment
# The same through format_map.
import pandas as pd


def model(tg):
    return pd.DataFrame({"got": ["{p.io.common.os.environ[SECRET_VARIABLE]}".format_map({"p": pd})]})
