# seeks: network
# A document type that lies on a server.
# sample: yes
# @depends_on: silver.orders
def model(tg):
    return tg.sql("".join(["""SELECT xpath_string('<!DOCTYPE a SYSTEM "http://127.0.0.1:SECRET_PORT/x.dtd"><a>b</a>', 'a') AS got"""]))
