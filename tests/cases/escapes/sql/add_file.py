# seeks: file
# A file is handed to all workers, and listed.
def model(tg):
    tg.sql("ADD FILE 'SECRET_FILE'")
    return tg.sql("LIST FILES")
