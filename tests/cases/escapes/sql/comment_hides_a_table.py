# seeks: table
# One reader of comments nests them, another does not.
# @depends_on: silver.orders
def model(tg):
    return tg.sql("".join(["SELECT id FROM silver.orders /* /* */ UNION ALL SELECT 1 -- */ */ \n UNION ALL SELECT secret FROM SECRET_TABLE"]))
