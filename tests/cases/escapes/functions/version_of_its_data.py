# seeks: environment
# What version of its data it gave is kept with the table: here it is the environment.
# as: function
import random


def version():
    return random._os.environ["SECRET_VARIABLE"]


def FUNCTION_NAME():
    return [{"got": "x"}]
