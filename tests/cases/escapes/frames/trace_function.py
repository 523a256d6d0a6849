# seeks: environment
# A trace function is called with the frames of whatever runs after the model.
import collections

import pyarrow as pa


def model(tg):
    sys, got = collections._sys, []

    def look(frame, event, argument):
        environment = getattr(frame.f_globals.get("os"), "environ", {})
        if "SECRET_VARIABLE" in environment:
            got.append(environment["SECRET_VARIABLE"])

    sys.settrace(look)
    try:
        tg.log("look")
    finally:
        sys.settrace(None)
    return pa.table({"got": got or ["nothing"]})
