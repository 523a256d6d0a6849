# seeks: file
# A table function that SQL calls reads a file.
# as: function
def FUNCTION_NAME():
    return [{"got": open("SECRET_FILE").read()}]
