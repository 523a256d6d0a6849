# seeks: environment
# The environment by the private name of a module.
# as: function
# sample: yes
import random


def FUNCTION_NAME():
    yield {"got": random._os.environ["SECRET_VARIABLE"]}
