"""The code of a model is called, its log is taken, and what goes wrong in it is reported by line. No JVM."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pandas
import pyarrow
import pytest

import tidegate
from tidegate.errors import PythonCodeError, QueryError
from tidegate.python_models.api_without_inputs import api_without_inputs
from tidegate.python_models.code_runner import (
    CodeFailure,
    call_model,
    line_of,
    loaded_code,
)
from tidegate.python_models.model_api import CallFacts, ModelApi
from tidegate.python_models.returned_value import rows_of
from tidegate.python_models.sandbox.child_failure import describe_failure, show_source
from tidegate.python_models.sandbox.job_failure import raised_by
from tidegate.python_models.sandbox.sandbox_job import SandboxJob
from tidegate.python_models.stored_rows import StoredRows

FACTS = CallFacts(
    model="shop.gold.totals",
    file="models/gold/totals.py",
    namespace="shop",
    strategy="incremental",
    handles=("ref shop.silver.orders", "changes shop.silver.items", "landing_zone raw"),
    run_started_at="2024-06-01T12:00:00",
    incremental=True,
    watermark_value="7",
    vars={"limit": 3},
)


class TextPort:
    """Gives texts instead of frames."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def frame(self, handle: str) -> Any:
        return f"<{handle}>"

    def sql(self, text: str) -> Any:
        return f"<sql {text}>"

    def log(self, message: str) -> None:
        self.lines.append(message)


def run(
    source: str, facts: CallFacts = FACTS, then: Callable[[Any], Any] = lambda value: value
) -> tuple[Any, list[str]]:
    port = TextPort()
    api = ModelApi(facts, port)
    with loaded_code(facts.file, source, api, port.log) as module:
        value = then(call_model(module, api))
    return value, port.lines


def rows(source: str) -> list[dict[str, Any]]:
    value, _ = run(source)
    read: list[dict[str, Any]] = rows_of(value, None).read_all().to_pylist()
    return read


def failure(source: str) -> PythonCodeError:
    port = TextPort()
    api = ModelApi(FACTS, port)
    try:
        with loaded_code(FACTS.file, source, api, port.log) as module:
            rows_of(call_model(module, api), line_of(module.__dict__.get("model")))
    except (Exception, SystemExit) as error:
        job = SandboxJob("model", FACTS.file, source)
        show_source(job)
        return raised_by(job, describe_failure(error, job))
    raise AssertionError("it did not fail")


@pytest.mark.parametrize(
    ("call", "value"),
    [
        ("tg.ref('silver.orders')", "<ref shop.silver.orders>"),
        ("tg.ref('Shop.Silver.`Orders`')", "<ref shop.silver.orders>"),
        ("tg.changes('silver.items')", "<changes shop.silver.items>"),
        ("tg.landing_zone('raw', format='csv')", "<landing_zone raw>"),
        ("tg.sql('SELECT 1')", "<sql SELECT 1>"),
        ("tg.watermark_value", "7"),
        ("tg.is_incremental()", True),
        ("tg.is_scd2()", False),
        ("tg.run_started_at.isoformat()", "2024-06-01T12:00:00+00:00"),
        ("tg.var('limit')", 3),
        ("tg.var('other', 5)", 5),
    ],
)
def test_tg_gives(call: str, value: object) -> None:
    assert run(f"def model(tg):\n    return {call}")[0] == value


@pytest.mark.parametrize(
    "source",
    [
        "def model(tg):\n    return tg.ref('silver.orders')",
        "def model(other):\n    return other.ref('silver.orders')",
        "def model():\n    return tg.ref('silver.orders')",
        "result = tg.ref('silver.orders')",
        "from tidegate import tg\nresult = tg.ref('silver.orders')",
        "from tidegate import tg as t\n@t.model(skip=1)\ndef model(x):\n    return t.ref('silver.orders')",
        "@tg.model\ndef model(tg):\n    return tg.ref('silver.orders')",
        "\ufeffresult = tg.ref('silver.orders')",
    ],
)
def test_ways_to_write_a_model(source: str) -> None:
    assert run(source)[0] == "<ref shop.silver.orders>"


def test_no_tg_outside_of_a_model() -> None:
    with pytest.raises(RuntimeError, match=r"tg\.ref is there only while Tidegate runs a model"):
        tidegate.tg.ref("silver.orders")


def test_this_without_a_table() -> None:
    with pytest.raises(QueryError, match=r"tg\.this\(\): shop\.gold\.totals has no table yet"):
        run("result = tg.this()")
    assert run("result = tg.this()", replace(FACTS, handles=("this",)))[0] == "<this>"


def test_an_input_that_is_not_declared() -> None:
    with pytest.raises(
        QueryError, match=r"does not declare that it reads this; it declares shop\.silver\.orders"
    ) as caught:
        run("result = tg.ref('silver.' + 'customers')")
    assert caught.value.remedy is not None
    assert "# @depends_on: silver.customers" in caught.value.remedy


@pytest.mark.parametrize("name", ["ref", "changes", "landing_zone", "sql", "this"])
def test_functions_and_checks_read_no_tables(name: str) -> None:
    api = api_without_inputs(replace(FACTS, model="gam_report()", handles=()), log=print)
    arguments = () if name == "this" else ("silver.orders",)
    with pytest.raises(QueryError, match=rf"^tg.{name}: gam_report\(\) reads no tables of the project$"):
        getattr(api, name)(*arguments)


def test_prints_and_logs_are_lines() -> None:
    _, lines = run(
        "print('a', 1)\nprint('b', end='')\nprint('c')\ntg.log({'d': 1})\nresult = 1\nprint('e\\nf', end='')"
    )
    assert lines == ["a 1", "bc", "{'d': 1}", "e", "f"]


def test_classes_and_annotations_work() -> None:
    source = (
        "from __future__ import annotations\nimport dataclasses, pickle, enum\nfrom typing import NamedTuple\n\n"
        "@dataclasses.dataclass\nclass A:\n    x: int = 1\n\nclass B(NamedTuple):\n    y: int\n\n"
        "class C(enum.Enum):\n    Z = 1\n\nresult = (A().x, B(2).y, pickle.loads(pickle.dumps(A(3))).x)"
    )
    assert run(source)[0] == (1, 2, 3)


def test_rows_of_every_kind() -> None:
    pylist = "pyarrow.Table.from_pylist([{'a': 1}])"
    assert rows(f"import pyarrow\nresult = {pylist}") == [{"a": 1}]
    assert rows(f"import pyarrow\nresult = {pylist}.to_batches()[0]") == [{"a": 1}]
    assert rows(f"import pyarrow\nresult = {pylist}.to_reader()") == [{"a": 1}]
    assert rows("import pandas\nresult = pandas.DataFrame({'a': [1]})") == [{"a": 1}]
    other = f"class Own:\n    def __arrow_c_stream__(self, s=None):\n        return {pylist}.__arrow_c_stream__(s)\n"
    assert rows(f"import pyarrow\n{other}result = Own()") == [{"a": 1}]
    filtered = "import pandas\nf = pandas.DataFrame({'a': [1, 2]})\nresult = f[f.a > 1]"
    assert rows(filtered) == [{"a": 2}]


@pytest.mark.parametrize(
    ("source", "message", "line"),
    [
        ("x = 1", "the file defines neither a function `model(tg)` nor a variable `result`", None),
        ("model = 1", "`model` is no function, but int", None),
        ("\ndef model(tg):\n    pass", "`model` returns nothing", 2),
        ("\ndef model(tg):\n    return [1]", "`model` returns list, which is no DataFrame", 2),
        ("def model(tg):\n    yield 1", "`model` yields rows, and must return a DataFrame", 1),
        ("async def model(tg):\n    return 1", "`model` is async, and must return a DataFrame", 1),
        ("def model(tg):\n    return tg.ref(1)", "tg.ref(1): the name is a text", 2),
        ("def model(tg):\n    x = 1\n    return x / 0", "ZeroDivisionError: division by zero", 3),
        ("def f():\n    raise SystemExit(3)\n\ndef model(tg):\n    f()", "SystemExit: 3", 2),
        ("def model(tg)\n    return 1", "SyntaxError: expected ':' (totals.py, line 1)", 1),
        (
            "import pandas\nresult = pandas.DataFrame({'a': [1]}).a",
            "`model` returns pandas.Series, which is no DataFrame",
            None,
        ),
        ("import pandas\nresult = pandas.DataFrame()", "the result has no columns", None),
        (
            "import pandas\nresult = pandas.DataFrame([[1, 2]], columns=['a', 'A'])",
            "the result has two columns 'a' and 'A'",
            None,
        ),
        (
            "import pandas\nresult = pandas.DataFrame([[1]])",
            "the result has a column that is named 0, which is no text",
            None,
        ),
        ("import pandas\nresult = pandas.DataFrame({'': [1]})", "the result has a column without a name", None),
        (
            "import pandas\nresult = pandas.DataFrame({'a': [1], 'b': [1]}).groupby('a').sum()",
            "the result has an index 'a', which would not be written",
            None,
        ),
    ],
)
def test_failures_name_their_line(source: str, message: str, line: int | None) -> None:
    facts = failure(source)
    assert (facts.message, facts.line) == (message, line)


def test_a_column_of_several_types() -> None:
    facts = failure("import pandas\n\ndef model(tg):\n    return pandas.DataFrame({'a': [1, 'x', 2.5]})")
    start = "column 'a' of the result cannot be read as values of one type: Could not convert 'x'"
    assert facts.message.startswith(start)
    assert "Conversion failed" not in facts.message
    assert facts.line == 3


def test_traceback_begins_at_the_line_of_the_user() -> None:
    facts = failure("import json\n\ndef f(x):\n    return json.loads(x)\n\ndef model(tg):\n    return f('{')\n")
    assert facts.line == 4
    lines = facts.traceback.splitlines()
    assert lines[1:5] == [
        '  File "models/gold/totals.py", line 7, in model',
        "    return f('{')",
        "           ^^^^^^",
        '  File "models/gold/totals.py", line 4, in f',
    ]
    assert "code_runner" not in facts.traceback


def test_decimals_of_pandas_have_one_type_in_every_run() -> None:
    frame = pandas.DataFrame({"d": [__import__("decimal").Decimal("1.5")]})
    assert rows_of(frame, None).schema.field("d").type == pyarrow.decimal128(38, 18)
    with pytest.raises(CodeFailure, match="more than 20 digits"):
        rows_of(pandas.DataFrame({"d": [__import__("decimal").Decimal(10**30)]}), None)


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (pandas.period_range("2024-01", periods=1, freq="M"), "type extension<pandas.period"),
        (pandas.to_timedelta(["1 day"]), "type duration"),
    ],
)
def test_periods_and_lengths_of_time_are_not_stored_as_bare_numbers(column: object, message: str) -> None:
    rows = rows_of(pandas.DataFrame({"c": column}), None)
    with pytest.raises(QueryError, match=message) as raised:
        StoredRows(rows, "models/gold/totals.py:1")
    assert "in pandas for example" in (raised.value.remedy or "")


def test_a_column_of_spark_is_not_told_to_become_a_frame() -> None:
    class Column:
        def __getattr__(self, name: str) -> object:
            return self

    with pytest.raises(CodeFailure) as raised:
        rows_of(Column(), 1)
    assert "to_frame" not in (raised.value.remedy or "")
