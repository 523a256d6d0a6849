# seeks: environment
# throw hands an exception into a generator, whose traceback grows by the frames that it passes.
import pyarrow as pa


def model(tg):
    def catches():
        try:
            yield
        except ValueError as error:
            frame = error.__traceback__.tb_frame
            while frame:
                if "os" in frame.f_globals:
                    yield frame.f_globals["os"].environ["SECRET_VARIABLE"]
                frame = frame.f_back

    running = catches()
    next(running)
    return pa.table({"got": [running.throw(ValueError())]})
