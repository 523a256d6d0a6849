# seeks: parent
# The process ends, its child keeps the socket open and ignores what can be ignored.
import os
import signal
import time


def model(tg):
    if os.fork() == 0:
        for number in range(1, 32):
            if number not in (9, 19):
                signal.signal(number, signal.SIG_IGN)
        with open("/proc/self/comm", "w") as file:
            file.write("LEFT_BEHIND")
        time.sleep(120)
        os._exit(0)
    os._exit(0)
