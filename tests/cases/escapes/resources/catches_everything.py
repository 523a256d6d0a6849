# seeks: none
# It never ends, and catches whatever wants to end it.
# check: accepts
def model(tg):
    while True:
        try:
            while True:
                pass
        except BaseException:
            continue
