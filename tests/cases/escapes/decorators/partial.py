# seeks: environment
# A partial call as a decorator.
import functools
import operator

import pandas as pd


@functools.partial(map, operator.attrgetter("io.common.os.environ"))
@(lambda function: [pd])
def found(): ...


def model(tg):
    return pd.DataFrame({"got": [next(found)["SECRET_VARIABLE"]]})
