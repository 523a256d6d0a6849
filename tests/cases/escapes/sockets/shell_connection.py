# seeks: network
# The shell connects.
import subprocess

import pyarrow as pa


def model(tg):
    asked = ["bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/SECRET_PORT; head -c 40 <&3"]
    return pa.table({"got": [subprocess.run(asked, capture_output=True, text=True, timeout=5).stdout]})
