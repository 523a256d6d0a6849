# seeks: environment
# The query of a frame follows attributes of local names.
import pandas as pd


def model(tg):
    frame = pd.DataFrame({"x": ["a"]})
    asked = pd.io.common
    return frame.eval("got = @asked.os.getenv('SECRET_VARIABLE')", engine="python")
