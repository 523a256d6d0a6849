# seeks: none
# It crashes.
import ctypes


def model(tg):
    ctypes.string_at(0)
