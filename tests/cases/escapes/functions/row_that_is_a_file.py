# seeks: file
# A row whose value reads the file when it is turned into text.
# as: function
import json


class Value(str):
    def __str__(self):
        return json.codecs.open("SECRET_FILE").read()


def FUNCTION_NAME():
    return [{"got": Value("x")}]
