# seeks: file
# inspect reads the source of a function where its code says it is.
import inspect

import pyarrow as pa


def model(tg):
    def shown(): ...

    shown.__code__ = shown.__code__.replace(co_filename="SECRET_FILE", co_firstlineno=1)
    return pa.table({"got": inspect.getsourcelines(shown)[0]})
