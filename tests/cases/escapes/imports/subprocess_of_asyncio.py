# seeks: file
# asyncio starts programs.
import asyncio

import pyarrow as pa


async def reads():
    program = await asyncio.create_subprocess_exec("cat", "SECRET_FILE", stdout=-1)
    return (await program.communicate())[0]


def model(tg):
    return pa.table({"got": [asyncio.run(reads()).decode()]})
