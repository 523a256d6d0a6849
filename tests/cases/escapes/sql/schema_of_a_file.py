# seeks: file
# Options of functions name files.
def model(tg):
    return tg.sql("SELECT from_xml('<a>b</a>', 'a STRING', map('rowValidationXSDPath', 'SECRET_FILE')) AS got")
