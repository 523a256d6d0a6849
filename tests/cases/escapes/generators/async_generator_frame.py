# seeks: file
# An asynchronous generator.
import pyarrow as pa


async def counts():
    yield 1


def model(tg):
    return pa.table({"got": [counts().ag_frame.f_builtins["open"]("SECRET_FILE").read()]})
