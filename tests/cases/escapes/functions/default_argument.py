# seeks: file
# The default of an argument is computed when the file is loaded, and shown with the signature of the function.
# as: function
def FUNCTION_NAME(text=open("SECRET_FILE").read()):
    return [{"got": text}]
