# seeks: environment
# A finder of one's own is asked for each import of everyone else; here it keeps what they import.
import sys

import pyarrow as pa


class Finder:
    def find_spec(self, name, path=None, target=None):
        self.os = sys.modules["os"]


def model(tg):
    finder = Finder()
    sys.meta_path.insert(0, finder)
    try:
        import nothing_of_this_name
    except ImportError:
        pass
    return pa.table({"got": [finder.os.environ["SECRET_VARIABLE"]]})
