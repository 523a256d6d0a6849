# seeks: table
# The other syntax of queries.
def model(tg):
    return tg.sql("FROM silver.orders |> UNION ALL (TABLE SECRET_TABLE) |> SELECT *")
