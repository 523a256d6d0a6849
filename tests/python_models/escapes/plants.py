"""Secrets where escapes look for them, and what shows that one got out."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from secrets import token_hex

from tests.conftest import PLANTED_VARIABLE

__all__ = ["Plants", "planted"]

_VICTIM = "import sys, time; print('ready', flush=True); time.sleep(86400)"


@dataclass(frozen=True, slots=True)
class Plants:
    folder: Path
    port: int
    victim: subprocess.Popen[str]
    """A process that has the secret file open and the variable in its environment, and which nobody else ends."""

    file: str = field(default_factory=lambda: f"planted-file-{token_hex(8)}")
    private: str = field(default_factory=lambda: f"planted-private-{token_hex(8)}")
    network: str = field(default_factory=lambda: f"planted-network-{token_hex(8)}")
    table: str = field(default_factory=lambda: f"planted-table-{token_hex(8)}")
    left_behind: str = field(default_factory=lambda: f"left-{token_hex(4)}")
    """The name of a process that an escape leaves."""

    connections: list[str] = field(default_factory=list)
    """From where somebody connected to the listeners."""

    @property
    def values(self) -> dict[str, str]:
        """By secret."""
        return {
            "the file": self.file,
            "the private file": self.private,
            "the environment": PLANTED_VARIABLE[1],
            "the network": self.network,
            "the other table": self.table,
        }

    def placeholders(self, project: Path, table_files: Path, connect_port: int = 15002) -> Mapping[str, object]:
        return {
            "SECRET_FILE": self.folder / "secret.txt",
            "PRIVATE_FILE": self.folder / "private.txt",
            "SECRET_VARIABLE": PLANTED_VARIABLE[0],
            "SECRET_PORT": self.port,
            "SECRET_SOCKET": self.folder / "planted.sock",
            "ABSTRACT_SOCKET": self._abstract,
            "SECRET_TABLE_FILES": table_files,
            "SECRET_TABLE": "silver.secrets",
            "OUTSIDE_FILE": self.outside,
            "PROJECT_FOLDER": project,
            "VICTIM_PID": self.victim.pid,
            "CONNECT_PORT": connect_port,
            "LEFT_BEHIND": self.left_behind,
        }

    @property
    def outside(self) -> Path:
        return self.folder / "outside"

    @property
    def _abstract(self) -> str:
        return f"tidegate-{self.port}"

    def found_in(self, text: str) -> list[str]:
        return [where for where, value in self.values.items() if value in text]

    def found_in_files(self, folder: Path) -> list[str]:
        """Where below `folder` a secret is written, as it is."""
        wanted = [value.encode() for value in self.values.values()]
        files = (path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
        return [str(path) for path in files if any(value in path.read_bytes() for value in wanted)]

    def damage(self) -> list[str]:
        """What else shows that somebody got out."""
        said = []
        if self.connections:
            said.append(f"a connection by {', '.join(self.connections)}")
        if list(self.folder.glob("outside*")):
            said.append("a file outside of its folder")
        if self.victim.poll() is not None:
            said.append("the end of a process outside")
        if left := self._left():
            said.append(f"processes left behind: {left}")
        return said

    def reset(self) -> None:
        self.connections.clear()
        for path in self.folder.glob("outside*"):
            shutil.rmtree(path) if path.is_dir() else path.unlink()

    def _left(self) -> list[str]:
        """Processes by the name that escapes give themselves. It is cut by the kernel."""
        found = []
        for path in Path("/proc").glob("[0-9]*/comm"):
            try:
                if path.read_text().strip() == self.left_behind[:15]:
                    found.append(path.parent.name)
            except OSError:
                continue
        return found


@contextmanager
def planted() -> Iterator[Plants]:
    with ExitStack() as stack:
        # Others may enter it: only walls are to keep them from reading, not the folder's mode.
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="tidegate-planted-", dir="/var/tmp")))
        folder.chmod(0o755)
        tcp = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        (folder / "secret.txt").touch(0o644)
        victim = stack.enter_context(_victim(folder / "secret.txt"))
        plants = Plants(folder, tcp.getsockname()[1], victim)
        (folder / "secret.txt").write_text(plants.file + "\n")
        (folder / "private.txt").touch(0o600)
        (folder / "private.txt").write_text(plants.private + "\n")
        _listen(stack, plants, tcp)
        yield plants


@contextmanager
def _victim(file: Path) -> Iterator[subprocess.Popen[str]]:
    with file.open() as opened:
        process = subprocess.Popen(
            [sys.executable, "-S", "-c", _VICTIM],
            stdin=opened,
            stdout=subprocess.PIPE,
            env=dict([PLANTED_VARIABLE]),
            text=True,
        )
    try:
        assert process.stdout is not None
        process.stdout.readline()
        yield process
    finally:
        process.kill()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


def _listen(stack: ExitStack, plants: Plants, tcp: socket.socket) -> None:
    udp = stack.enter_context(socket.socket(type=socket.SOCK_DGRAM))
    udp.bind(("127.0.0.1", plants.port))
    by_path = stack.enter_context(socket.socket(socket.AF_UNIX))
    by_path.bind(str(plants.folder / "planted.sock"))
    os.chmod(plants.folder / "planted.sock", 0o777)
    abstract = stack.enter_context(socket.socket(socket.AF_UNIX))
    abstract.bind(f"\0{plants._abstract}")
    for name, server in (("TCP", tcp), ("a socket of files", by_path), ("an abstract socket", abstract)):
        server.listen()
        threading.Thread(target=_greet, args=(plants, name, server), daemon=True).start()
    threading.Thread(target=_answer, args=(plants, udp), daemon=True).start()


def _greet(plants: Plants, name: str, server: socket.socket) -> None:
    while True:
        try:
            link, _ = server.accept()
        except OSError:
            return
        plants.connections.append(name)
        with link:
            try:
                link.sendall(plants.network.encode() + b"\n")
            except OSError:
                continue


def _answer(plants: Plants, server: socket.socket) -> None:
    while True:
        try:
            _, sender = server.recvfrom(4096)
            plants.connections.append("UDP")
            server.sendto(plants.network.encode(), sender)
        except OSError:
            return
