# seeks: file
# A function that is a class, which reads while its columns are asked for.
# as: function
import json


class FUNCTION_NAME:
    def __init__(self):
        self.text = json.codecs.open("SECRET_FILE").read()

    def eval(self):
        yield {"got": self.text}
