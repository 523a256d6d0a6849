# seeks: environment
# The name of an exception's class.
import random


def model(tg):
    raise type(random._os.environ["SECRET_VARIABLE"], (Exception,), {})
