# seeks: environment
# posix keeps the environment as it was when the interpreter began.
import posix

import pyarrow as pa


def model(tg):
    return pa.table({"got": [posix.environ[b"SECRET_VARIABLE"].decode()]})
