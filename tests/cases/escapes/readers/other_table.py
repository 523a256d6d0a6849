# seeks: table
# The session knows every table of the lake.
# sample: yes
def model(tg):
    return tg.ref("silver.orders").sparkSession.table("SECRET_TABLE")
