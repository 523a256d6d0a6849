"""A project with a source `orders`, and what its files have become."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pyarrow import parquet

from tidegate.chunks import chunk_bronze
from tidegate.chunks.layout import RAW, chunk_path
from tidegate.chunks.processing_metadata import BronzeToSilverProcessingMetadata

ROOT = Path(__file__).parents[2]
CONTRACT = """\
apiVersion: v3.1.0
kind: DataContract
id: orders
version: 1.0.0
status: active
schema:
  - name: orders
    properties:
      - {name: id, physicalType: bigint, primaryKey: true}
      - name: amount
        physicalType: decimal(9,2)
        logicalType: number
        logicalTypeOptions: {minimum: 1}
      - {name: note, physicalType: string}
"""
_KILLED = """
import os, sys
from tests.chunks.chunk_shop import ChunkShop
from pathlib import Path
for point, root in zip(sys.argv[1::2], sys.argv[2::2]):
    child = os.fork()
    if child == 0:
        os.environ["TIDEGATE_FAULT"] = point
        ChunkShop(Path(root)).chunk()
        os._exit(0)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


class ChunkShop:
    def __init__(self, root: Path, size: int = 3) -> None:
        self.root = root
        if not (root / "tidegate.toml").exists():
            text = f'[chunks]\ndefault_chunk_size = {size}\n[chunks.sources.orders]\ncontract = "orders.odcs.yml"\n'
            (root / "tidegate.toml").write_text(text)
            (root / "orders.odcs.yml").write_text(CONTRACT)

    def deliver(self, name: str, records: Iterable[Any]) -> Path:
        """Records that are text are written as they are."""
        path = self.root / "bronze" / "orders" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"{r if isinstance(r, str) else json.dumps(r)}\n" for r in records))
        return path

    def chunk(self) -> list[dict[str, Any]]:
        done = (chunk_bronze.process_task(task) for task in chunk_bronze.get_tasks(self.root))
        return [each for each in done if each is not None]

    def parents(self) -> list[BronzeToSilverProcessingMetadata]:
        found = self.root.glob("archived_bronze/*/*/metadata.json")
        parents = [BronzeToSilverProcessingMetadata.model_validate_json(path.read_bytes()) for path in found]
        return sorted(parents, key=lambda parent: parent.start_timestamp)

    def chunk_rows(self, *columns: str) -> list[list[tuple[Any, ...]]]:
        """Of each raw chunk that its parent names, in order."""
        chunks = []
        for parent in self.parents():
            for path in parent.raw_chunks:
                table = parquet.read_table(self.root / path)
                chunks.append(list(zip(*(table[name].to_pylist() for name in columns), strict=True)))
        return chunks

    def files(self, folder: str = "") -> set[str]:
        paths = (path for path in (self.root / folder).rglob("*") if path.is_file())
        return {path.relative_to(self.root).as_posix() for path in paths}

    def strays(self) -> set[str]:
        """Files below `chunked_bronze` that are no raw chunk of a parent, and temporary ones anywhere."""
        named = {path for parent in self.parents() for path in parent.raw_chunks}
        pending = self.files("chunked_bronze") - named
        return pending | {path for path in self.files() if path.rpartition("/")[2].startswith(".")}

    def raw_chunks(self) -> set[str]:
        return {path for path in self.files("chunked_bronze") if (found := chunk_path(path)) and found.kind == RAW}


def kill(shops: dict[str, ChunkShop]) -> list[int]:
    """Chunk each in a process of its own, with a fault at the point; the exit codes."""
    arguments = [text for point, shop in shops.items() for text in (point, str(shop.root))]
    ended = subprocess.run(
        [sys.executable, "-c", _KILLED, *arguments],
        cwd=ROOT,
        env=os.environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        timeout=60,
        check=True,
    )
    return list(map(int, ended.stdout.split()))
