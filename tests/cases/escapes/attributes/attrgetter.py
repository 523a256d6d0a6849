# seeks: environment
# operator follows a dotted path that is only a string for whoever reads the source.
import operator

import pandas as pd


def model(tg):
    environment = operator.attrgetter("io.common.os.environ")(pd)
    return pd.DataFrame({"got": [environment["SECRET_VARIABLE"]]})
