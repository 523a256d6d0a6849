# seeks: file
# A coroutine that never runs has a frame all the same.
import pyarrow as pa


async def waits():
    pass


def model(tg):
    waiting = waits()
    opened = waiting.cr_frame.f_builtins["open"]
    waiting.close()
    return pa.table({"got": [opened("SECRET_FILE").read()]})
