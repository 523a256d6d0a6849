# seeks: file
# A function of protobuf reads its description from a file, and says what is wrong with it.
# @depends_on: silver.orders
def model(tg):
    return tg.sql("".join(["SELECT from_protobuf(X'00', 'x', 'SECRET_FILE') AS got"]))
