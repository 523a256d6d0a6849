"""Tags of columns as directives and settings files write them, and the masks that they ask for."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.compiler.projects import write_project
from tidegate.config import load_settings
from tidegate.datatypes import ANY, BIGINT, STRING
from tidegate.errors import ConfigError
from tidegate.problems import Place
from tidegate.project import Model, load_project
from tidegate.project.column_masks import ColumnMask

SQL = "models/silver/people.sql"


def load(root: Path, files: dict[str, str]) -> Model:
    project = load_project(load_settings(write_project(root, {SQL: "select 'x' as email", **files}), env={"S": "s"}))
    assert project.problems == ()
    return project.models[0]


@pytest.mark.parametrize(
    ("written", "description", "tags"),
    [
        ("email: Where we write to [mask_email, pii]", "Where we write to", ("mask_email", "pii")),
        ("email: [ pii ]", None, ("pii",)),
        ("`E mail`: x[pii,pii]", "x", ("pii",)),
        ("email: price [in euros]", "price [in euros]", None),
        ("email: a list [1, 2, ]", "a list [1, 2, ]", None),
        ("email: [pii] comes first", "[pii] comes first", None),
        ("email: []", "[]", None),
    ],
)
def test_a_directive_ends_with_its_tags(
    tmp_path: Path, written: str, description: str | None, tags: tuple[str, ...] | None
) -> None:
    settings = load(tmp_path, {SQL: f"-- @column: {written}\nselect 'x' as email"}).settings
    name = "E mail" if "`" in written else "email"
    assert settings.columns.get(name) == description
    assert settings.column_tags.get(name) == tags


def test_a_settings_file_tells_description_and_tags(tmp_path: Path) -> None:
    text = '[columns]\nplain = "a text"\n[columns.email]\ndescription = "where"\ntags = ["mask_email"]\n'
    model = load(tmp_path, {"models/silver/people.toml": text + '[columns.id]\ntags = "a, b"\n'})
    assert model.settings.columns == {"plain": "a text", "email": "where"}
    assert model.settings.column_tags == {"email": ("mask_email",), "id": ("a", "b")}
    assert model.masks == (ColumnMask("email", "mask_email"),)
    assert model.origins["column_tags.email"] == Place("models/silver/people.toml", 3, 10)


def test_tags_of_all_levels_add_up_and_a_description_takes_none_away(tmp_path: Path) -> None:
    files = {
        "models/_defaults.toml": '[columns.email]\ntags = ["pii"]\n[columns.phone]\ntags = ["redact"]\n',
        "models/silver/people.yaml": "columns:\n  Email: {tags: [contact]}\n",
        SQL: "-- @column: email: the first [mask_email]\n-- @column: email: the last\nselect 'x' as email",
    }
    model = load(tmp_path, files)
    assert model.settings.column_tags == {"email": ("pii", "contact", "mask_email"), "phone": ("redact",)}
    assert model.settings.columns == {"email": "the last"}
    assert model.masks == (ColumnMask("email", "mask_email"), ColumnMask("phone", "redact", required=False))


def test_a_mask_of_the_projects_own_is_known_by_its_file(tmp_path: Path) -> None:
    files = {"masks/Initials.sql": "upper(left({column}, 2));\n", SQL: "-- @column: a: [INITIALS]\nselect 'x' as a"}
    (mask,) = load(tmp_path, files).masks
    assert mask == ColumnMask("a", "initials", "upper(left({column}, 2))")
    assert mask.expression("a`b", is_text=True) == "(\nupper(left(`a``b`, 2))\n)"
    assert mask.type_of(BIGINT) == ANY


def test_the_salt_is_part_of_the_definition_and_shows_itself_to_nobody(tmp_path: Path) -> None:
    toml = '[project]\nname = "shop"\n[masking]\nsalt = "${S}"\n'
    (mask,) = load(tmp_path, {"tidegate.toml": toml, SQL: "-- @column: a: [hash_pii]\nselect 'x' as a"}).masks
    assert "'s'" in mask.expression("a", is_text=True)
    assert "'s'" not in repr(mask)
    assert mask.definition != ColumnMask("a", "hash_pii").definition
    assert mask.type_of(BIGINT) == STRING


def test_an_empty_salt_is_refused(tmp_path: Path) -> None:
    toml = '[project]\nname = "shop"\n[masking]\nsalt = "${S}"\n'
    with pytest.raises(ConfigError) as raised:
        load_settings(write_project(tmp_path, {"tidegate.toml": toml}), env={"S": ""})
    assert "salt" in str(raised.value.problems)
