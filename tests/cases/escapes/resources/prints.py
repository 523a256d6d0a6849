# seeks: none
# It prints more than anybody reads.
def model(tg):
    for _ in range(400):
        print("x" * (1 << 20))
