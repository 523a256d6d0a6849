# seeks: environment
# A carriage return ends a line for Python and not for everyone who splits lines.
import pyarrow as pa

# not seen:import os
def model(tg):
    return pa.table({"got": [os.environ["SECRET_VARIABLE"]]})
