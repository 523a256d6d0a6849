# seeks: none
# It logs more than anybody reads, with signs that change a terminal.
# check: accepts
def model(tg):
    for _ in range(20000):
        tg.log("\x1b[2J" + "x" * 10000)
