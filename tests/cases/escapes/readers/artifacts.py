# seeks: file
# A file of the client is handed to the server; here the client is in the sandbox and the file outside.
def model(tg):
    session = tg.ref("silver.orders").sparkSession
    session.addArtifacts("SECRET_FILE", file=True)
    return session.read.text("SECRET_FILE")
