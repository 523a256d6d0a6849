"""A proxy over granted views, and PySpark's client at the other end of a link to it."""

from __future__ import annotations

import contextlib
import secrets
import socket
import threading
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql.connect.session import SparkSession as Session

from tidegate.config import SandboxSection
from tidegate.python_models.connect.frame_channel import connect_session
from tidegate.python_models.connect.plan_proxy import PlanProxy
from tidegate.python_models.sandbox.link import FrameKind, Link
from tidegate.python_models.sandbox.sandbox_job import CallRefusedError
from tidegate.python_models.walled_functions import with_walled_functions
from tidegate.spark.connect_server import connect_server

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_LIMIT = 1 << 30


@contextlib.contextmanager
def granted(session: SparkSession, frames: Mapping[str, DataFrame]) -> Iterator[dict[str, str]]:
    """Grants of these frames by their handles."""
    grants = {handle: f"input_{secrets.token_hex(16)}" for handle in frames}
    for handle, view in grants.items():
        frames[handle].createGlobalTempView(view)
    try:
        yield grants
    finally:
        for view in grants.values():
            session.catalog.dropGlobalTempView(view)


@contextlib.contextmanager
def open_proxy(
    session: SparkSession, grants: Mapping[str, str], section: SandboxSection | None = None, **more: Any
) -> Iterator[PlanProxy]:
    walled = with_walled_functions(session, section or SandboxSection())
    proxy = PlanProxy(connect_server(session), grants, walled, namespace="shop", **more)
    try:
        yield proxy
    finally:
        proxy.close()


@contextlib.contextmanager
def client_of(proxy: PlanProxy) -> Iterator[Any]:
    """A session of PySpark's client, whose calls `proxy` answers in a thread of its own."""
    ours, theirs = socket.socketpair()
    server = threading.Thread(target=_serve, args=(Link(ours, _LIMIT), proxy), daemon=True)
    server.start()
    link = Link(theirs, _LIMIT)
    with pytest.MonkeyPatch.context() as patch:
        # PySpark has one session for a process, and here are several.
        patch.setattr(Session, "_default_session", None)
        patch.setattr(Session, "_active_session", threading.local())
        try:
            yield connect_session(link)
        finally:
            link.close()
            server.join(10)


def _serve(link: Link, proxy: PlanProxy) -> None:
    with contextlib.suppress(OSError):
        while (frame := link.receive()) is not None:
            try:
                for response in proxy.call(frame.header["method"], frame.body):
                    link.send(FrameKind.REPLY, body=response)
            except CallRefusedError as error:
                header = {"code": error.code, "details": error.details}
                link.send(FrameKind.REPLY_ERROR, header, error.status)
            else:
                link.send(FrameKind.REPLY_END)
    link.close()
