# seeks: none
# One file that grows.
import pyarrow as pa


def model(tg):
    with open("large", "wb") as file:
        for _ in range(100):
            file.write(bytes(1 << 24))
    return pa.table({"got": ["written"]})
