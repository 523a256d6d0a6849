# seeks: file
# A dataclass names its fields, a class may register another as its own, and a pattern without names reads these fields of it.
from abc import ABC
from dataclasses import dataclass

import pyarrow as pa


@dataclass
class Running(ABC):
    gi_frame: object


@dataclass
class Frame(ABC):
    f_builtins: dict


def model(tg):
    numbers = (number for number in [1])
    Running.register(type(numbers))
    match numbers:
        case Running(frame):
            Frame.register(type(frame))
            match frame:
                case Frame(names):
                    return pa.table({"got": list(names["open"]("SECRET_FILE"))})
