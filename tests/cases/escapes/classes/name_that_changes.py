# seeks: table
# A text that is the declared table when it is checked, and the other one when it is used.
# check: accepts
# @depends_on: silver.orders
import pyarrow as pa


class Name(str):
    asked = 0

    def _text(self):
        Name.asked += 1
        return "silver.orders" if Name.asked < 2 else "SECRET_TABLE"

    def lower(self):
        return self._text()

    def split(self, *arguments):
        return self._text().split(*arguments)

    def __str__(self):
        return self._text()

    def __eq__(self, other):
        return True

    def __hash__(self):
        return hash("silver.orders")


def model(tg):
    tg.ref("silver.orders")
    return tg.ref(Name("silver.orders"))
