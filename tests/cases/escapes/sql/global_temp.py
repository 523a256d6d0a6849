# seeks: table
# What other models were granted lies among the global views.
# @depends_on: silver.orders
def model(tg):
    views = tg.sql("".join(["SHOW VIEWS IN global_temp"])).collect()
    return tg.sql(f"SELECT * FROM global_temp.`{views[-1].viewName}`")
