# seeks: environment
# The older word for it.
def model(tg):
    return tg.sql("FROM silver.orders MAP id USING 'printenv SECRET_VARIABLE' AS got")
