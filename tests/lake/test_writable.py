"""A warehouse that cannot be written is refused before Spark starts."""

from __future__ import annotations

from pathlib import Path
from typing import NoReturn

import pytest

from tidegate.config import Settings, load_settings
from tidegate.errors import LakeUnavailableError
from tidegate.lake.warehouse import require_writable
from tidegate.operations.maintain import maintain_after_run
from tidegate.runs.lifecycle import run_project


def shop(root: Path, warehouse: str) -> Settings:
    (root / "tidegate.toml").write_text(f'[project]\nname = "shop"\n[lake]\nwarehouse = "{warehouse}"\n')
    (root / "models" / "silver").mkdir(parents=True)
    (root / "models" / "silver" / "a.sql").write_text("SELECT 1 AS x\n")
    return load_settings(root)


@pytest.mark.parametrize("warehouse", ["file", "file/warehouse/below"])
def test_a_run_ends_before_spark_starts(tmp_path: Path, warehouse: str) -> None:
    (tmp_path / "file").write_text("")
    settings = shop(tmp_path, warehouse)

    def started(*args: object) -> NoReturn:
        raise AssertionError("Spark was started")

    with pytest.raises(LakeUnavailableError, match=r"the warehouse cannot be written: .*it is not a folder") as caught:
        run_project(settings, open_builder=started, maintain=maintain_after_run)
    assert caught.value.where == str(tmp_path / warehouse)
    assert "[lake] warehouse" in str(caught.value.remedy)


def test_a_folder_that_this_user_may_not_write_is_refused(tmp_path: Path) -> None:
    lake = shop(tmp_path, "new/warehouse").lake
    asked: list[Path] = []

    def may_write(folder: Path) -> bool:
        asked.append(folder)
        return False

    with pytest.raises(LakeUnavailableError, match="this user may not write there, or its disk is mounted read-only"):
        require_writable(lake, may_write)
    assert asked == [tmp_path]  # the nearest one that is there
    require_writable(lake)
