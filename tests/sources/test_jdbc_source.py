"""Databases with a driver: how Spark connects to them, and whether they answer."""

from __future__ import annotations

import socket
from datetime import timedelta

import pytest

from tests.services.ports import free_port
from tidegate.config import DatabaseSource, JdbcSource, Secret, SqlServerSource
from tidegate.errors import FailureKind
from tidegate.sources.discovery import discover, open_source
from tidegate.sources.jdbc_source import jdbc_options

DRIVER = "com.example.Driver"


def test_spark_connects_with_the_driver_and_the_password_apart_from_the_address() -> None:
    source = SqlServerSource("erp", "jdbc:sqlserver://h;databaseName=erp", DRIVER, "app", Secret("hunter22"))
    assert jdbc_options(source) == {
        "url": "jdbc:sqlserver://h;databaseName=erp",
        "driver": DRIVER,
        "user": "app",
        "password": "hunter22",
    }
    assert jdbc_options(JdbcSource("local", "jdbc:sqlite:shop.db", DRIVER)) == {
        "url": "jdbc:sqlite:shop.db",
        "driver": DRIVER,
    }
    crm = DatabaseSource("crm", "::1", 5432, "crm", "app", Secret("hunter22"), parameters={"sslmode": "require"})
    assert jdbc_options(crm) == {
        "url": "jdbc:postgresql://[::1]:5432/crm?sslmode=require",
        "driver": "org.postgresql.Driver",
        "user": "app",
        "password": "hunter22",
    }


def test_its_tables_are_not_listed() -> None:
    found = discover(JdbcSource("shop", "jdbc:mysql://h/shop", DRIVER))
    assert found.tables == found.failures == ()


@pytest.mark.parametrize(
    "url",
    ["jdbc:sqlserver://127.0.0.1:{};databaseName=x", "jdbc:mysql://127.0.0.1:{}/x", "jdbc:h2:tcp://127.0.0.1:{}/x"],
)
def test_a_ping_tries_the_address_and_no_password(url: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        ping = open_source(JdbcSource("shop", url.format(port), DRIVER)).ping()
    assert ping.ok
    assert ping.detail == f"a server listens at 127.0.0.1:{port}"


def test_a_server_that_is_down_is_reported() -> None:
    port = free_port()
    source = SqlServerSource("erp", f"jdbc:sqlserver://127.0.0.1:{port}", DRIVER, timeout=timedelta(seconds=5))
    ping = open_source(source).ping()
    assert ping.failure is not None
    assert ping.failure.kind is FailureKind.CONNECTION_FAILED
    assert f"no server answers at 127.0.0.1:{port}" in ping.detail
    assert ping.failure.remedy is not None


@pytest.mark.parametrize("url", ["jdbc:sqlite:shop.db", "jdbc:oracle:thin:@h:1521:x", "jdbc:other://h/x"])
def test_an_address_without_a_known_server_is_not_tried(url: str) -> None:
    ping = open_source(JdbcSource("shop", url, DRIVER)).ping()
    assert ping.ok
    assert ping.detail == "not tried: only a run connects to it"
