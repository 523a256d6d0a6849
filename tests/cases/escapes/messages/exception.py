# seeks: environment
# The message of an exception.
import os


def model(tg):
    raise ValueError(os.environ["SECRET_VARIABLE"])
