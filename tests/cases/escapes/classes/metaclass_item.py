# seeks: environment
# An index of a class calls what the metaclass says: eval.
import pyarrow as pa


class Runs(type):
    __getitem__ = eval.__call__ if False else lambda cls, text: cls.run(text)


class X(metaclass=Runs):
    run = eval


def model(tg):
    return pa.table({"got": [X["__import__('os').environ['SECRET_VARIABLE']"]]})
