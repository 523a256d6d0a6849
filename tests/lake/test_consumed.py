from __future__ import annotations

from pathlib import Path

import pytest
from blake3 import blake3

from tidegate.errors import LakeError, LakeUnavailableError
from tidegate.lake.consumed import Consumed, ConsumedFile, consumed_files, read_consumed, write_consumed
from tidegate.lake.progress import Progress, ZoneInput

TAKEN = Consumed("orders", (ConsumedFile("a b/ä.csv", 12, 1_700_000_000_123_456_789, "run-1"),), "id BIGINT")


def only(folder: Path) -> Path:
    (path,) = (folder / "metadata").iterdir()
    return path


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    zone = write_consumed(f"file:{tmp_path}", TAKEN)
    assert zone.files == 1
    assert read_consumed(f"file:{tmp_path}/", zone) == TAKEN
    assert consumed_files(str(tmp_path), Progress("run-1", "f", "full", "full_refresh", zones={"orders": zone})) == (
        str(only(tmp_path)),
    )


def test_the_same_list_is_one_file_and_another_list_another(tmp_path: Path) -> None:
    first = write_consumed(str(tmp_path), TAKEN)
    assert write_consumed(str(tmp_path), TAKEN) == first
    assert only(tmp_path).name == f"landing-{first.digest}.json"
    other = write_consumed(str(tmp_path), Consumed("orders", ()))
    assert other.digest != first.digest
    assert read_consumed(str(tmp_path), first) == TAKEN


@pytest.mark.parametrize("damage", ["missing", "changed", "other version"])
def test_a_list_that_cannot_be_trusted_is_an_error_that_says_what_to_do(tmp_path: Path, damage: str) -> None:
    zone = write_consumed(str(tmp_path), TAKEN)
    path = only(tmp_path)
    if damage == "missing":
        path.unlink()
    elif damage == "changed":
        path.write_text(path.read_text().replace("12", "13"))
    else:
        zone = _write_raw(path, b'{"from": "the future"}')
    with pytest.raises(LakeError, match="consumed") as caught:
        read_consumed(str(tmp_path), zone)
    assert "--full-refresh" in str(caught.value.remedy)


def _write_raw(path: Path, content: bytes) -> ZoneInput:

    digest = blake3(content).hexdigest()
    path.with_name(f"landing-{digest}.json").write_bytes(content)
    return ZoneInput(digest, 1)


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "metadata").write_text("in the way")
    with pytest.raises(LakeUnavailableError, match="orders") as caught:
        write_consumed(str(tmp_path), TAKEN)
    assert str(tmp_path) in str(caught.value.where)
