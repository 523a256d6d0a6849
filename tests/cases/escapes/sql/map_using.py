# seeks: environment
# The older word for it.
# @depends_on: silver.orders
def model(tg):
    return tg.sql("".join(["FROM silver.orders MAP id USING 'printenv SECRET_VARIABLE' AS got"]))
