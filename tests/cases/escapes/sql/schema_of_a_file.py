# seeks: file
# Options of functions name files.
# @depends_on: silver.orders
def model(tg):
    return tg.sql("".join(["SELECT from_xml('<a>b</a>', 'a STRING', map('rowValidationXSDPath', 'SECRET_FILE')) AS got"]))
