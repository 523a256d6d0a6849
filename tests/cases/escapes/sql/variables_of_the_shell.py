# seeks: environment
# The old substitution of variables in a query.
def model(tg):
    return tg.sql("SELECT '${env:SECRET_VARIABLE}' AS got, '${system:java.home}' AS home")
