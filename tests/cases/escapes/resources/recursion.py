# seeks: none
# Deeper than the stack.
def model(tg):
    def deeper(level):
        return [deeper(level + 1)]

    import sys

    sys.setrecursionlimit(10_000_000)
    return deeper(0)
