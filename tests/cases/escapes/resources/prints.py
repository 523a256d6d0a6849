# seeks: none
# It prints more than anybody reads.
# check: accepts
def model(tg):
    for _ in range(400):
        print("x" * (1 << 20))
