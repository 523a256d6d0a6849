# seeks: file
# Notes, causes and contexts of an exception.
# sample: yes
import json


def model(tg):
    try:
        raise KeyError
    except KeyError as error:
        error.add_note(json.codecs.open("SECRET_FILE").read())
        raise ValueError("see its cause") from error
