# seeks: environment
# A log message in braces style is formatted with the attributes of its arguments.
import string

import pandas as pd


class Braces(string.Formatter):
    pass


def model(tg):
    tg.log(Braces().vformat("{0.io.common.os.environ[SECRET_VARIABLE]}", [pd], {}))
    return pd.DataFrame({"got": ["logged"]})
