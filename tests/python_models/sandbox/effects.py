"""What code behind some of the walls reaches of a parent that listens, and of a planted file. Also runs as a program,
for a user who is not root: `python -m tests.python_models.sandbox.effects FOLDER WALL…` leaves out these walls."""

from __future__ import annotations

import json
import os
import socket
import sys
from pathlib import Path
from typing import Any

from tests.python_models.sandbox.conftest import own_sandbox, run_script

PROGRAM = """
import ctypes, os, signal, socket

def reached(function):
    try:
        function()
        return True
    except BaseException:
        return False

def connect(family, address):
    with socket.socket(family) as connection:
        connection.settimeout(1)
        connection.connect(address)

parent = values["parent"]
libc = ctypes.CDLL(None)
result = {
    "file": reached(lambda: open(values["secret"]).read()),
    "private file": reached(lambda: open(values["private"]).read()),
    "link": reached(lambda: (os.symlink(values["secret"], "x"), open("x").read())),
    "folder": reached(lambda: os.listdir(values["folder"])),
    "write": reached(lambda: open(values["folder"] + "/new", "w")),
    "environment": reached(lambda: open(f"/proc/{parent}/environ", "rb").read()),
    "tcp": reached(lambda: connect(socket.AF_INET, ("127.0.0.1", values["port"]))),
    "abstract socket": reached(lambda: connect(socket.AF_UNIX, "\\0" + values["abstract"])),
    "socket of a path": reached(lambda: connect(socket.AF_UNIX, values["path"])),
    "signal": reached(lambda: os.kill(parent, 0)),
    "ptrace": libc.ptrace(16, parent, 0, 0) == 0,
    "root": reached(lambda: os.setuid(0)) and os.getuid() == 0 and reached(lambda: open("/etc/shadow").read()),
}
open("own", "w").write("works")
"""


def effects(folder: Path, without: list[str]) -> dict[str, Any]:
    secret, private = folder / "secret", folder / "private"
    secret.write_text("the-secret")
    private.write_text("the-secret")
    secret.chmod(0o644)
    private.chmod(0o600)
    abstract, path = f"tidegate-test-{os.getpid()}", str(folder / "socket")
    with (
        socket.create_server(("127.0.0.1", 0)) as tcp,
        socket.socket(socket.AF_UNIX) as first,
        socket.socket(socket.AF_UNIX) as second,
    ):
        first.bind("\0" + abstract)
        second.bind(path)
        for listener in (first, second):
            listener.listen()
        values = {
            "secret": str(secret),
            "private": str(private),
            "folder": str(folder),
            "parent": os.getpid(),
            "port": tcp.getsockname()[1],
            "abstract": abstract,
            "path": path,
        }
        with own_sandbox(folder / "jobs", without) as sandbox:
            reached = run_script(sandbox, PROGRAM, values=values)
            walls = [wall.name for wall in sandbox.walls() if wall.active]
    return {"reached": [name for name, done in reached.items() if done], "walls": walls}


if __name__ == "__main__":
    print(json.dumps(effects(Path(sys.argv[1]), sys.argv[2:])))
