# seeks: environment
# A program inherits it and prints it.
import subprocess

import pyarrow as pa


def model(tg):
    text = subprocess.run(["/usr/bin/env"], capture_output=True, text=True).stdout.splitlines()
    return pa.table({"got": [line for line in text if "SECRET_VARIABLE" in line] or ["nothing"]})
