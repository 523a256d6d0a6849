# seeks: environment
# An operator of an exception class is exec.
# sample: yes
import pyarrow as pa

got = []


class Fails(Exception):
    __add__ = exec


def model(tg):
    try:
        raise Fails
    except Fails as error:
        error + "got.append(__import__('os').environ['SECRET_VARIABLE'])"
    return pa.table({"got": got})
