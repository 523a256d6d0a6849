# seeks: network
# The schema of a function lies on a server.
# @depends_on: silver.orders
def model(tg):
    return tg.sql("".join(["SELECT from_avro(X'00', '\"string\"', map('avroSchemaUrl', 'http://127.0.0.1:SECRET_PORT/x')) AS got"]))
