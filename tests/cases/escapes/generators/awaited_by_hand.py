# seeks: file
# __await__ gives an iterator whose send is driven without an event loop, the awaited object opens.
import json

import pyarrow as pa


class Opens:
    def __await__(self):
        text = json.codecs.open("SECRET_FILE").read()
        yield text


async def waits():
    await Opens()


def model(tg):
    running = waits()
    text = running.send(None)
    running.close()
    return pa.table({"got": [text]})
