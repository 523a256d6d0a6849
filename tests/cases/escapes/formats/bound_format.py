# seeks: environment
# The method is handed on and called elsewhere.
import pandas as pd


def model(tg):
    fields = "{0.io.common.os.environ[SECRET_VARIABLE]}".format
    return pd.DataFrame({"got": list(map(fields, [pd]))})
