# seeks: file
# What site adds to the builtins prints the file that it is given.
def model(tg):
    license._Printer__filenames = ["SECRET_FILE"]
    license._Printer__lines = None
    license._Printer__setup()
    raise ValueError("\n".join(license._Printer__lines))
