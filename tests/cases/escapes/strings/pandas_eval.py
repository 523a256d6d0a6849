# seeks: environment
# pandas evaluates expressions, with names of the caller.
import pandas as pd


def model(tg):
    frame = pd.DataFrame({"x": [1]})
    value = pd.eval("pd.io.common.os.getenv('SECRET_VARIABLE')", engine="python", parser="pandas")
    return pd.DataFrame({"got": [value, str(frame)]})
