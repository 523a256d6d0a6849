# seeks: network
# A document type that lies on a server.
def model(tg):
    return tg.sql("""SELECT xpath_string('<!DOCTYPE a SYSTEM "http://127.0.0.1:SECRET_PORT/x.dtd"><a>b</a>', 'a') AS got""")
