# seeks: write
# By a method whose name is put together.
import pandas as pd


def model(tg):
    frame = pd.DataFrame({"got": ["x"]})
    getattr(frame, "to_" + "pickle")("OUTSIDE_FILE")
    return frame
