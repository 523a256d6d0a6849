# seeks: none
# A hidden column of each relation of files shows its path.
# check: accepts
def model(tg):
    return tg.ref("silver.orders").select("_metadata.file_path")
