# seeks: none
# It never ends, and takes no time of the processor.
import time


def model(tg):
    while True:
        time.sleep(60)
