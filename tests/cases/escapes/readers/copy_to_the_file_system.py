# seeks: write
# The client copies a file to the file system of the server.
def model(tg):
    with open("x.txt", "w") as file:
        file.write("x")
    tg.ref("silver.orders").sparkSession.copyFromLocalToFs("x.txt", "OUTSIDE_FILE")
    return tg.ref("silver.orders")
