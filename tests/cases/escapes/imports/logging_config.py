# seeks: environment
# The configuration of logging names functions to call, and objects of any module.
import logging.config

import pyarrow as pa


def model(tg):
    resolver = logging.config.BaseConfigurator({"x": "ext://os.environ"})
    return pa.table({"got": [resolver.config["x"]["SECRET_VARIABLE"]]})
