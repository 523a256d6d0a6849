# seeks: file
# A file that is no Python is shown by the syntax error.
import runpy


def model(tg):
    runpy.run_path("SECRET_FILE")
