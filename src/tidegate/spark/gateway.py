"""Whether a JVM's Py4J gateway still serves connections."""

from __future__ import annotations

import socket

__all__ = ["gateway_answers"]

_AUTHENTICATE = "A"
"""The command of Py4J's protocol that each connection begins with."""


def gateway_answers(gateway: tuple[str, str], seconds: float) -> bool:
    """`gateway`: its port and its secret."""
    port, secret = gateway
    try:
        with socket.create_connection(("127.0.0.1", int(port)), timeout=seconds) as connection:
            connection.sendall(f"{_AUTHENTICATE}\n{secret}\n".encode())
            return connection.recv(1) != b""
    except OSError:
        return False
