# seeks: table
# The catalog of the lake is a database in the project's folder.
import sqlite3

import pyarrow as pa


def model(tg):
    lite = sqlite3.connect("PROJECT_FOLDER/.tidegate/catalog.db")
    tables = lite.execute("SELECT metadata_location FROM iceberg_tables").fetchall()
    rows = [open(str(row[0]).removeprefix("file:")).read() for row in tables]
    lite.execute("DELETE FROM iceberg_tables")
    lite.commit()
    return pa.table({"got": rows or ["nothing"]})
