# seeks: file
# The exceptions of a group each keep a traceback.
import pyarrow as pa


def model(tg):
    try:
        try:
            raise TypeError(2)
        except TypeError as error:
            raise ExceptionGroup("both", [error]) from None
    except* TypeError as group:
        opened = group.exceptions[0].__traceback__.tb_frame.f_builtins["open"]
    return pa.table({"got": [opened("SECRET_FILE").read()]})
