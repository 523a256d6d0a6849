# seeks: table
# A function has a tg, too.
# check: accepts
# as: function
def FUNCTION_NAME():
    from tidegate import tg

    return tg.ref("SECRET_TABLE").toPandas()
