# seeks: none
# Files, each below the limit.
import pyarrow as pa


def model(tg):
    for number in range(30):
        with open(f"file-{number}", "wb") as file:
            for _ in range(5):
                file.write(bytes(1 << 24))
    return pa.table({"got": ["written"]})
