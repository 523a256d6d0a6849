# seeks: none
# One expression that takes for ever, in which no signal of Python is heard.
# check: accepts
def model(tg):
    return 9 ** (9**9)
