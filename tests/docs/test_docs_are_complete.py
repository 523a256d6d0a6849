"""Whatever a user can write or call is in the docs, and what the docs point to exists."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import pytest

from tidegate.cli.main import COMMANDS
from tidegate.cli.reference import with_reference
from tidegate.config import (
    AnomaliesSection,
    ChunkSource,
    ChunksSection,
    ContractsSection,
    LakeSection,
    LintsSection,
    MaintenanceSection,
    ProjectSection,
    ReaperSection,
    RunSection,
    S3Section,
    SparkSection,
    StateSection,
    ZoneSettings,
)
from tidegate.names import TableName
from tidegate.planner.selector_words import METHODS, STATES
from tidegate.project.declared_checks import ANNOTATIONS
from tidegate.project.model import Strategy
from tidegate.project.setting_keys import KEYS, SPELLINGS
from tidegate.project.template_names import TemplateContext, TemplateNames

ROOT = Path(__file__).parents[2]
CONFIGURATION = (ROOT / "docs" / "configuration.md").read_text(encoding="utf-8")
COMMANDS_PAGE = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")

SECTIONS = {
    "[project]": ProjectSection,
    "[lake]": LakeSection,
    "[spark]": SparkSection,
    "[state]": StateSection,
    "[run]": RunSection,
    "[contracts]": ContractsSection,
    "[landing.ZONE]": ZoneSettings,
    "[lints]": LintsSection,
    "[maintenance]": MaintenanceSection,
    "[reaper]": ReaperSection,
    "[anomalies]": AnomaliesSection,
    "[chunks]": ChunksSection,
    "[chunks.sources.NAME]": ChunkSource,
    "[s3]": S3Section,
}
SETTINGS = [
    (section, field.name)
    for section, values in SECTIONS.items()
    for field in dataclasses.fields(values)
    if field.name not in getattr(values, "OF_CONTRACTS", ())
]


def part(heading: str) -> str:
    """The text under a heading of docs/configuration.md, up to the next one."""
    found = re.search(
        rf"^#+ [^\n]*`{re.escape(heading)}`[^\n]*\n(.*?)(?=^#|\Z)", CONFIGURATION, re.MULTILINE | re.DOTALL
    )
    assert found, f"docs/configuration.md has no heading for {heading}"
    return found[1]


@pytest.mark.parametrize("command", COMMANDS)
def test_command_is_documented(command: str) -> None:
    assert re.search(rf"`tidegate {command}\b", COMMANDS_PAGE)


def test_the_reference_of_commands_is_what_they_say_of_themselves() -> None:
    assert with_reference(COMMANDS_PAGE) == COMMANDS_PAGE, "run `make docs`"


@pytest.mark.parametrize("method", [*METHODS, *(f"state:{state}" for state in STATES)])
def test_every_way_to_select_is_documented(method: str) -> None:
    page = (ROOT / "docs" / "selection.md").read_text(encoding="utf-8")
    assert f"`{method}:" in page or f"`{method}`" in page


@pytest.mark.parametrize(("section", "setting"), SETTINGS)
def test_setting_is_documented(section: str, setting: str) -> None:
    assert f"`{setting}`" in part(section)


@pytest.mark.parametrize("key", KEYS)
def test_model_setting_is_documented(key: str) -> None:
    assert f"`{key}`" in CONFIGURATION


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_spelling_of_a_strategy_is_documented(spelling: str) -> None:
    assert f"`{spelling}`" in CONFIGURATION


@pytest.mark.parametrize("key", ANNOTATIONS)
def test_annotation_of_a_quality_test_is_documented(key: str) -> None:
    assert f"`@{key}`" in CONFIGURATION


def test_every_name_of_templates_is_documented() -> None:
    context = TemplateContext(TableName("a", "b", "c"), "a", Strategy.FULL_REFRESH, "2026-01-01T00:00:00+00:00")
    missing = [name for name in TemplateNames(context).as_dict() if not re.search(rf"`{name}\b", CONFIGURATION)]
    assert not missing


@pytest.mark.parametrize("page", [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))])
def test_links_lead_somewhere(page: Path) -> None:
    targets = re.findall(r"\]\((?!\w+:|#)([^)#]+)", page.read_text(encoding="utf-8"))
    assert [target for target in targets if not (page.parent / target).exists()] == []


def test_every_decision_is_listed_in_the_architecture() -> None:
    architecture = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    missing = [page.name for page in sorted((ROOT / "docs" / "adr").glob("*.md")) if page.name not in architecture]
    assert not missing


def test_every_room_is_in_the_architecture() -> None:
    architecture = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    rooms = [path.name for path in (ROOT / "src" / "tidegate").iterdir() if (path / "__init__.py").is_file()]
    assert [room for room in sorted(rooms) if f"`{room}/`" not in architecture] == []
