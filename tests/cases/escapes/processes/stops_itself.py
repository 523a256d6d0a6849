# seeks: none
# A process that stands still is neither working nor ended.
import os
import signal


def model(tg):
    os.kill(os.getpid(), signal.SIGSTOP)
