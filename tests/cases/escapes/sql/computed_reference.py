# seeks: table
# A reference by a computed name.
def model(tg):
    return tg.ref("".join(["SECRET", "_TABLE"]) and "%s" % "SECRET_TABLE")
