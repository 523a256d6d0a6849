# seeks: none
# It never ends.
def model(tg):
    while True:
        pass
