# seeks: environment
# A class calls its base when it is made.
import pandas as pd

got = []


class Base:
    def __init_subclass__(cls, /, run, **names):
        got.append(run("SECRET_VARIABLE"))


class Derived(Base, run=pd.io.common.os.getenv): ...


def model(tg):
    return pd.DataFrame({"got": got})
