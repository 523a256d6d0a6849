# seeks: environment
# pandas calls the method for each value.
import pandas as pd


def model(tg):
    series = pd.Series([pd]).map("{0.io.common.os.environ[SECRET_VARIABLE]}".format)
    return series.to_frame("got")
