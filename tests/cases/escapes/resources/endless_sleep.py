# seeks: none
# It never ends, and takes no time of the processor.
# check: accepts
import time


def model(tg):
    while True:
        time.sleep(60)
