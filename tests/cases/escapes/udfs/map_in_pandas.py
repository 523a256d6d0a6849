# seeks: file
# Batches of rows as frames.
# sample: yes
import pandas as pd


def reads(frames):
    for _ in frames:
        yield pd.read_csv("SECRET_FILE", header=None, names=["got"])


def model(tg):
    return tg.ref("silver.orders").mapInPandas(reads, "got string")
