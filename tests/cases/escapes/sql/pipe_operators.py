# seeks: table
# The other syntax of queries.
# @depends_on: silver.orders
def model(tg):
    return tg.sql("".join(["FROM silver.orders |> UNION ALL (TABLE SECRET_TABLE) |> SELECT *"]))
