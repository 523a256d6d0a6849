# seeks: file
# A specification from a file location, for a file that is no module.
import importlib.machinery
import importlib.util

import pyarrow as pa


def model(tg):
    loader = importlib.machinery.SourceFileLoader("x", "SECRET_FILE")
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("x", loader))
    return pa.table({"got": [module.__loader__.get_data("SECRET_FILE").decode()]})
