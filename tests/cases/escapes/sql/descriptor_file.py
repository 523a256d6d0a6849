# seeks: file
# A function of protobuf reads its description from a file, and says what is wrong with it.
def model(tg):
    return tg.sql("SELECT from_protobuf(X'00', 'x', 'SECRET_FILE') AS got")
