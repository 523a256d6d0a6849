# seeks: parent
# The process exits, by the exception that ends interpreters.
def model(tg):
    raise SystemExit(0)
