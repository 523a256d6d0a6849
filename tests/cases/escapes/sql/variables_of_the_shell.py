# seeks: environment
# The old substitution of variables in a query.
# @depends_on: silver.orders
def model(tg):
    return tg.sql("".join(["SELECT '${env:SECRET_VARIABLE}' AS got, '${system:java.home}' AS home"]))
