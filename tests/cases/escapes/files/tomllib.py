# seeks: file
# A parser of configuration; the error shows what it could not read.
import configparser


def model(tg):
    parser = configparser.ConfigParser()
    parser.read("SECRET_FILE")
