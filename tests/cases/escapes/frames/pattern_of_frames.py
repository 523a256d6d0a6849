# seeks: file
# The frame by class patterns, without an attribute.
import pyarrow as pa


def model(tg):
    try:
        raise ValueError
    except ValueError as error:
        match error:
            case object(__traceback__=object(tb_frame=object(f_builtins={"open": opened}))):
                return pa.table({"got": [opened("SECRET_FILE").read()]})
