# seeks: network
# By an event loop.
import asyncio

import pyarrow as pa


async def asks():
    reader, _ = await asyncio.wait_for(asyncio.open_connection("127.0.0.1", SECRET_PORT), 3)
    return (await asyncio.wait_for(reader.read(200), 3)).decode()


def model(tg):
    return pa.table({"got": [asyncio.run(asks())]})
