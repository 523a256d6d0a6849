# seeks: write
# A frame writes itself.
import pandas as pd


def model(tg):
    frame = pd.DataFrame({"got": ["x"]})
    frame.to_csv("OUTSIDE_FILE")
    return frame
