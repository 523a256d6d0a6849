# seeks: environment
# One of all classes loads the modules that are part of the interpreter.
import pyarrow as pa


def model(tg):
    for found in int.__mro__[1].__subclasses__():
        if found.__name__ == "BuiltinImporter":
            posix = found.load_module("posix")
            return pa.table({"got": [posix.environ[b"SECRET_VARIABLE"].decode()]})
