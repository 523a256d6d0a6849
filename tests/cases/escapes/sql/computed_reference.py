# seeks: table
# A reference by a computed name.
# sample: yes
# check: accepts
# @depends_on: silver.orders
def model(tg):
    return tg.ref("".join(["SECRET", "_TABLE"]) and "%s" % "SECRET_TABLE")
