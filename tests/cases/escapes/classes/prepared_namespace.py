# seeks: file
# The names of a class body are looked up in what its metaclass prepared.
import json

import pyarrow as pa


class Names(dict):
    def __missing__(self, name):
        return json.codecs.open("SECRET_FILE").read() if name == "text" else __builtins__


class Prepared(type):
    def __prepare__(name, bases):
        return Names()

    def __new__(cls, name, bases, names):
        return super().__new__(cls, name, bases, dict(names))


def model(tg):
    class Body(metaclass=Prepared):
        got = text

    return pa.table({"got": [Body.got]})
