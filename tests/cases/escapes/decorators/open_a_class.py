# seeks: file
# What opens is handed the class, whose text is made a path.
import pyarrow as pa


class Path(type):
    def __fspath__(cls):
        return "SECRET_FILE"


@open
class opened(metaclass=Path): ...


def model(tg):
    return pa.table({"got": [opened.read()]})
