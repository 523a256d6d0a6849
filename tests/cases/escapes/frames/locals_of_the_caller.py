# seeks: table
# What the caller holds in its locals: a session, a link, the names of the granted views.
import collections

import pyarrow as pa


def model(tg):
    got, frame = [], collections._sys._getframe(0).f_back
    while frame:
        for value in list(frame.f_locals.values()):
            for ask in ("sql", "table"):
                if callable(getattr(value, ask, None)) and value is not tg:
                    try:
                        text = "SELECT * FROM SECRET_TABLE" if ask == "sql" else "SECRET_TABLE"
                        got.append(str(getattr(value, ask)(text).collect()))
                    except Exception as error:
                        got.append(type(error).__name__)
        frame = frame.f_back
    return pa.table({"got": got or ["nothing"]})
