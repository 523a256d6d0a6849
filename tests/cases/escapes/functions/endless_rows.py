# seeks: none
# Rows without end.
# check: accepts
# as: function
def FUNCTION_NAME():
    while True:
        yield {"got": "x" * 1000}
