# seeks: file
# A document names an entity that is a file.
def model(tg):
    return tg.sql(
        """SELECT xpath_string('<!DOCTYPE a [<!ENTITY x SYSTEM "file://SECRET_FILE">]><a>&x;</a>', 'a') AS got"""
    )
