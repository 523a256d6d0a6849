# seeks: table
# One reader of comments nests them, another does not.
def model(tg):
    return tg.sql("SELECT id FROM silver.orders /* /* */ UNION ALL SELECT 1 -- */ */ \n UNION ALL SELECT secret FROM SECRET_TABLE")
