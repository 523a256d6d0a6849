# seeks: table
# Another function of tg, kept in a variable.
def model(tg):
    read = getattr(tg, "chan" + "ges")
    return read("SECRET_TABLE")
