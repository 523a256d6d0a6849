# seeks: environment
# A decorator is called without a call in the syntax tree, one on top of another.
# sample: yes
import pyarrow as pa


@eval
@(lambda ignored: "__import__('os').environ['SECRET_VARIABLE']")
def got(): ...


def model(tg):
    return pa.table({"got": [got]})
