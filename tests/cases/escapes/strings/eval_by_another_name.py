# seeks: environment
# The function in a variable, a default and a list.
import pyarrow as pa


def model(tg, run=[eval][0]):
    return pa.table({"got": [run("".join(map(chr, [95, 95])) + "import__('os').environ['SECRET_VARIABLE']")]})
