# seeks: environment
# The builtins have a loader, too, that of builtin modules.
import pyarrow as pa


def model(tg):
    found = __builtins__ if isinstance(__builtins__, dict) else vars(__builtins__)
    posix = found["__loader__"].load_module("posix")
    return pa.table({"got": [posix.environ[b"SECRET_VARIABLE"].decode()]})
