# seeks: file
# A program with the owner's rights.
import subprocess

import pyarrow as pa


def model(tg):
    got = []
    for program in (["su", "-c"], ["sudo", "-n"], ["newgrp"], ["mount"], ["unshare", "-Ur"]):
        try:
            ran = subprocess.run([*program, "cat", "PRIVATE_FILE"], capture_output=True, text=True, timeout=5, input="")
            got.append(ran.stdout)
        except (OSError, subprocess.SubprocessError) as error:
            got.append(type(error).__name__)
    return pa.table({"got": got})
