# seeks: parent
# The exception that a person sends.
# check: accepts
def model(tg):
    raise KeyboardInterrupt
