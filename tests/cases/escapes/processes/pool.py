# seeks: none
# Workers of its own.
import pyarrow as pa
from concurrent.futures import ProcessPoolExecutor


def model(tg):
    with ProcessPoolExecutor(4) as pool:
        return pa.table({"got": list(pool.map(abs, [-1, -2]))})
