# seeks: write
# The next run would load what is put beside the model.
import pyarrow as pa


def model(tg):
    for path in ("PROJECT_FOLDER/models/silver/planted.sql", "PROJECT_FOLDER/tidegate.toml", "OUTSIDE_FILE"):
        try:
            with open(path, "a") as file:
                file.write("\n# OUTSIDE_FILE\n")
        except OSError:
            pass
    return pa.table({"got": ["written"]})
