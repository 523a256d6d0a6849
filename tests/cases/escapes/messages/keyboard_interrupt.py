# seeks: parent
# The exception that a person sends.
def model(tg):
    raise KeyboardInterrupt
