# seeks: environment
# The names of columns are shown, and become part of the schema.
import pandas as pd


def model(tg):
    return pd.DataFrame({pd.io.common.os.environ["SECRET_VARIABLE"]: [1]})
