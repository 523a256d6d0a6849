# seeks: file
# A warning is printed with the line of the file that it says it is from.
import pyarrow as pa
import warnings


def model(tg):
    warnings.simplefilter("always")
    warnings.warn_explicit("look", UserWarning, "SECRET_FILE", 1)
    return pa.table({"got": [warnings.formatwarning("look", UserWarning, "SECRET_FILE", 1)]})
