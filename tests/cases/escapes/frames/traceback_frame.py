# seeks: file
# The traceback of an exception has frames, and a frame has builtins.
import pyarrow as pa


def model(tg):
    try:
        1 / 0
    except ZeroDivisionError as error:
        opened = error.__traceback__.tb_frame.f_builtins["open"]
    return pa.table({"got": [opened("SECRET_FILE").read()]})
