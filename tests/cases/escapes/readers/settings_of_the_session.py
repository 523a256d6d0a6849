# seeks: environment
# The settings of Spark hold passwords of the lake, and what the environment gave.
def model(tg):
    conf = tg.ref("silver.orders").sparkSession.conf
    conf.set("spark.sql.variable.substitute", "true")
    tg.log(str(conf.getAll))
    raise ValueError(conf.get("spark.executorEnv.SECRET_VARIABLE", "nothing") + str(conf.get("spark.driver.host")))
