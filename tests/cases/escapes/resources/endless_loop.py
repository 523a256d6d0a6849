# seeks: none
# It never ends.
# check: accepts
def model(tg):
    while True:
        pass
