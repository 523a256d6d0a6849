# seeks: table
# The name is an expression.
# check: accepts
def model(tg):
    return tg.sql("SELECT * FROM IDENTIFIER(lower('SECRET_TABLE'))")
