# seeks: environment
# A context manager is handed the traceback; from the frame back to the callers, whose globals are Tidegate's.
# sample: yes
import pyarrow as pa


class Holds:
    def __enter__(self):
        return self

    def __exit__(self, kind, error, traceback):
        self.frame = traceback.tb_frame
        return True


def model(tg):
    with Holds() as holder:
        raise ValueError
    frame = holder.frame
    while frame:
        for value in frame.f_globals.values():
            if hasattr(value, "environ"):
                return pa.table({"got": [value.environ["SECRET_VARIABLE"]]})
        frame = frame.f_back
