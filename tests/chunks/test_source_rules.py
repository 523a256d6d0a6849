"""Contracts and pydantic models become one kind of rules; what cannot be held is named."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from tests.chunks.chunk_shop import CONTRACT
from tidegate.chunks.rules.source_rules import ChunkRules, source_rules
from tidegate.config import ChunkSource
from tidegate.errors import ConfigError, ContractValidationError

_MODULES = itertools.count()
IMPORTS = """\
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, Literal, Optional, Union
from uuid import UUID
from pydantic import *
"""


def rules_of_contract(root: Path, text: str, **settings: object) -> ChunkRules:
    (root / "orders.odcs.yml").write_text(text)
    source = ChunkSource("orders", "orders/**", contract="orders.odcs.yml", **settings)  # type: ignore[arg-type]
    return source_rules(root, source)


def rules_of_model(root: Path, text: str, name: str = "Order") -> ChunkRules:
    module = f"models_of_source_rules_{next(_MODULES)}"
    (root / f"{module}.py").write_text(IMPORTS + text)
    return source_rules(root, ChunkSource("orders", "orders/**", model=f"{module}:{name}", primary_key=("id",)))


def test_one_object_of_a_contract_is_enough(tmp_path: Path) -> None:
    found = rules_of_contract(tmp_path, CONTRACT)
    assert [(column.name, column.type, column.origin) for column in found.columns] == [
        ("id", "bigint", ("id",)),
        ("amount", "decimal(9,2)", ("amount",)),
        ("note", "string", ("note",)),
    ]
    assert found.key == ("id",)
    assert found.rules.key == ()


def test_settings_win_over_the_contract(tmp_path: Path) -> None:
    found = rules_of_contract(tmp_path, CONTRACT, primary_key=("NOTE", "id"), partition_key="amount")
    assert (found.key, found.partition_key) == (("note", "id"), "amount")
    assert [column.primary_key for column in found.columns] == [True, False, True]


def test_what_compares_rows_is_left_to_the_table_and_named(tmp_path: Path) -> None:
    rule = "\n".join(
        [
            "    quality:",
            "      - {type: sql, name: few, query: 'SELECT count(*) FROM {object}', mustBeLessThan: 9}",
            "      - {type: sql, name: sane, query: 'amount > 1000', mustBe: 0}",
            "      - {type: text, name: nice, description: nice}",
        ]
    )
    text = CONTRACT.replace("physicalType: string}", "physicalType: string, unique: true}") + f"{rule}\n"
    found = rules_of_contract(tmp_path, text)
    assert [rule.name for rule in found.rules.quality] == ["sane"]
    assert found.not_evaluated == (
        "quality rule nice",
        "unique of note",
        "quality rule few, which is about all rows",
    )


DELETIONS = "customProperties: [{property: deletion_enabled, value: true}]"


@pytest.mark.parametrize(
    ("before", "after", "problem"),
    [
        ("physicalType: string}", "physicalType: strin}", "is not one of Spark's: 'strin'"),
        ("minimum: 1", "minimum: x", "minimum x of column 'amount' cannot be used"),
        (
            "properties:",
            "customProperties: [{property: deletion_enabled, value: true}]\n    properties:",
            "deletes none",
        ),
        ("schema:", "schema:\n  - {name: other, properties: [{name: x, logicalType: string}]}", None),
        ("name: orders", "name: [", "not valid YAML"),
    ],
)
def test_a_contract_that_cannot_be_followed(tmp_path: Path, before: str, after: str, problem: str | None) -> None:
    text = CONTRACT.replace(before, after, 1)
    if problem is None:  # of several objects the one that is called as the source
        assert rules_of_contract(tmp_path, text).rules.name == "orders"
        return
    with pytest.raises(ContractValidationError) as caught:
        rules_of_contract(tmp_path, text)
    assert problem in str(caught.value)


def test_a_contract_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ContractValidationError, match="there is no such file"):
        source_rules(tmp_path, ChunkSource("orders", "orders/**", contract="none.yml"))


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"primary_key": ("ids",)}, "primary_key of [chunks.sources.orders] names 'ids'"),
        ({"partition_key": "day"}, "partition_key of [chunks.sources.orders] names 'day'"),
    ],
)
def test_a_key_that_is_no_column(tmp_path: Path, settings: dict[str, object], problem: str) -> None:
    with pytest.raises(ConfigError) as caught:
        rules_of_contract(tmp_path, CONTRACT, **settings)
    assert problem in str(caught.value)


MODEL = """
class Status(Enum):
    new = "new"
    paid = "paid"
class Address(BaseModel):
    city: str
    zip: Annotated[str, Field(pattern=r"^[0-9]{5}$")] | None = None
class Order(BaseModel):
    id: int = Field(ge=1, validation_alias="ID")
    name: Annotated[str, Field(min_length=1, max_length=20)]
    amount: Decimal = Field(max_digits=10, decimal_places=2, gt=0)
    total: Decimal
    share: float = Field(le=1)
    day: date = Field(ge=date(2020, 1, 1))
    at: Optional[datetime] = None
    local: NaiveDatetime | None = None
    status: Status = Status.new
    level: Literal[1, 2] | None = None
    address: Address | None = None
    tags: list[constr(min_length=2)] = Field(default=None, max_length=3)
    counts: dict[str, int] | None = None
    ref: UUID | None = None
    site: HttpUrl | None = None
    inner: int | None = Field(None, validation_alias=AliasPath("x", "y"))
    anything: Any
    some: conint(gt=3, multiple_of=2) = 4
"""


def test_a_model_is_translated(tmp_path: Path) -> None:
    columns = {column.name: column for column in rules_of_model(tmp_path, MODEL).columns}
    assert {name: column.type for name, column in columns.items()} == {
        "id": "bigint",
        "name": "string",
        "amount": "decimal(10,2)",
        "total": "decimal(38,10)",
        "share": "double",
        "day": "date",
        "at": "timestamp",
        "local": "timestamp_ntz",
        "status": "string",
        "level": "bigint",
        "address": "struct<`city`:string,`zip`:string>",
        "tags": "array<string>",
        "counts": "map<string,bigint>",
        "ref": "string",
        "site": "string",
        "inner": "bigint",
        "anything": "string",
        "some": "bigint",
    }
    nullable = {name for name, column in columns.items() if not column.required}
    optional = {"at", "local", "level", "address", "tags", "counts", "ref", "site", "inner", "anything"}
    assert nullable == optional
    assert columns["id"].origin == ("ID",)
    assert columns["inner"].origin == ("x", "y")
    assert columns["id"].options == {"minimum": 1}
    assert columns["name"].options == {"minLength": 1, "maxLength": 20}
    assert columns["amount"].options == {"exclusiveMinimum": 0}
    assert columns["day"].options == {"minimum": "2020-01-01"}
    assert columns["some"].options == {"exclusiveMinimum": 3, "multipleOf": 2}
    assert columns["some"].transform == "coalesce(`some`, '4')"
    assert columns["status"].transform == "coalesce(`status`, 'new')"
    assert (columns["status"].allowed, columns["level"].allowed) == (("new", "paid"), (1, 2))
    assert [(part.name, part.required) for part in columns["address"].parts] == [("city", True), ("zip", False)]
    assert columns["tags"].options == {"maxItems": 3}
    assert columns["tags"].items is not None
    assert columns["tags"].items.options == {"minLength": 2}
    assert columns["site"].options == {"format": "uri", "pattern": "^(?i:https?)://"}


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ("a: int | str", "Order.a: a union of several types"),
        ("a: set[int]", "Order.a: the type set[int] is no type of a column"),
        ("a: object", "Order.a: the type object is no type of a column"),
        ("a: Annotated[int, AfterValidator(abs)]", "Order.a: AfterValidator is Python"),
        ("a: int = Field(strict=True)", "Order.a: strict=True is not held"),
        ("a: int = Field(default_factory=int)", "Order.a: a default_factory is Python"),
        ("a: str = Field(validation_alias=AliasChoices('b', 'c'))", "Order.a: a choice of several aliases"),
        ("a: constr(strip_whitespace=True)", "Order.a: strip_whitespace=True is not held"),
        ("a: Literal[1, 'x']", "Order.a: its values are neither all texts nor all whole numbers"),
        ("model_config = ConfigDict(extra='forbid')", "Order: extra='forbid' is not held"),
        ("@field_validator('id')\n    def check(cls, value): return value", "Order.check: a field_validator is Python"),
        (
            "@model_validator(mode='after')\n    def whole(self): return self",
            "Order.whole: a model_validator is Python",
        ),
    ],
)
def test_what_cannot_be_translated_is_named(tmp_path: Path, fields: str, problem: str) -> None:
    with pytest.raises(ConfigError) as caught:
        rules_of_model(tmp_path, f"class Order(BaseModel):\n    id: int\n    {fields}\n")
    assert len(caught.value.problems) == 1
    assert problem in caught.value.problems[0]


@pytest.mark.parametrize(
    ("text", "name", "problem"),
    [
        ("", "Order", "has no Order"),
        ("Order = 5", "Order", "is no pydantic model"),
        ("raise ValueError('x')", "Order", "cannot be imported: ValueError: x"),
        ("import not_there_at_all", "Order", "cannot be imported: No module named 'not_there_at_all'"),
    ],
)
def test_a_model_that_is_not_there(tmp_path: Path, text: str, name: str, problem: str) -> None:
    with pytest.raises(ConfigError) as caught:
        rules_of_model(tmp_path, text, name)
    assert problem in str(caught.value)


def test_a_model_that_needs_another_package_says_so(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        rules_of_model(tmp_path, "raise ImportError('email-validator is not installed')", "Order")
    assert caught.value.remedy == "install what it needs"


def test_projects_may_have_modules_of_one_name(tmp_path: Path) -> None:
    for name, column in (("one", "a"), ("two", "b")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "shop_of_two_projects.py").write_text(
            f"{IMPORTS}class Order(BaseModel):\n    id: int\n    {column}: str\n"
        )
    source = ChunkSource("orders", "orders/**", model="shop_of_two_projects:Order", primary_key=("id",))
    for name, column in (("one", "a"), ("two", "b"), ("one", "a")):
        assert [each.name for each in source_rules(tmp_path / name, source).columns] == ["id", column]
