# seeks: file
# A static method of the JVM that reads lines and takes one text.
# @depends_on: silver.orders
def model(tg):
    return tg.sql(
        "".join(["SELECT reflect('org.apache.spark.TestUtils', 'x', 'SECRET_FILE') AS a, "
        "reflect('org.apache.commons.io.FileUtils', 'readFileToString', 'SECRET_FILE') AS got"])
    )
