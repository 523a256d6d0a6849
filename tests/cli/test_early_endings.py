"""A run that ends before its first model: `--json` gives the same document as always, with the kind and the remedy."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.cli.calling import Call
from tidegate.runs.result import document_before_run

NOBODY = "postgresql://user@127.0.0.1:9/lake"
HOOK = (
    '[[hooks]]\nname = "gate"\nevents = ["compile_complete"]\ncommand = "echo closed; exit 3"\non_failure = "abort"\n'
)


@dataclass(frozen=True)
class Case:
    kind: str
    said: str
    toml: str = ""
    files: dict[str, str] = field(default_factory=dict)
    args: tuple[str, ...] = ()
    begun: bool = False


CASES = {
    "broken configuration": Case("QueryRejected", "tidegate.toml", toml="[run]\npublsh = 1\n"),
    "unknown option": Case("QueryRejected", "--no-such", args=("--no-such",)),
    "impossible key": Case("QueryRejected", "idempotency key", args=("--idempotency-key", "k" * 300)),
    "unknown run": Case("NotFound", "run-1", args=("--resume", "run-1")),
    "state unreachable": Case("ConnectionFailed", "state", toml=f'[state]\nurl = "{NOBODY}"\n'),
    "lake unreachable": Case(
        "ConnectionFailed", "127.0.0.1", toml=f'[lake]\ncatalog = "jdbc"\nuri = "{NOBODY}"\n', begun=True
    ),
    "compile error": Case("QueryRejected", "errors", files={"models/a/b.sql": "SELECT * FROM a.nope"}, begun=True),
    "unknown model": Case("NotFound", "a.nope", args=("a.nope",), begun=True),
    "history at stake": Case(
        "QueryRejected",
        "--full-refresh",
        files={"models/a/b.sql": "-- @merge_strategy: append_only\nSELECT 1 AS x"},
        args=("--full-refresh",),
        begun=True,
    ),
    "hook that aborts": Case("Cancelled", "gate", toml=HOOK, begun=True),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_the_document_of_a_run_has_one_shape_however_early_it_ends(case: Case, project: Path, tidegate: Call) -> None:
    with (project / "tidegate.toml").open("a") as toml:
        toml.write(f"\n{case.toml}")
    for name, text in {"models/a/a.sql": "SELECT 1 AS x", **case.files}.items():
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text(text)
    outcome = tidegate("run", *case.args, "--json")
    document = outcome.document
    assert (outcome.code, document["status"], document["command"]) == (1, "failed", "run")
    assert set(document) == {*document_before_run()}
    assert document["failure_kind"] == case.kind
    assert case.said in f"{document['error']} {document['where']}"
    assert document["remedy"] or document["diagnostics"] or document["problems"]
    assert (document["run_id"] is not None) == case.begun
    if case.begun:
        logged = tidegate("history", "--json").document["runs"][0]
        assert (logged["run_id"], logged["status"]) == (document["run_id"], "failed")


@pytest.mark.parametrize("command", ["sql", "preview", "check", "plan", "ls", "lineage", "branches", "test", "profile"])
def test_other_commands_report_an_error_in_one_form(command: str, project: Path, tidegate: Call) -> None:
    (project / "tidegate.toml").write_text("[run]\npublsh = 1\n")
    arguments = {"sql": ["SELECT 1"], "preview": ["a.b"], "lineage": ["a.b"], "profile": ["a.b"]}.get(command, [])
    outcome = tidegate(command, *arguments, "--json")
    expected = {"version", "command", "status", "error", "where", "remedy", "failure_kind", "problems"}
    assert (outcome.code, set(outcome.document)) == (1, expected)
    assert (outcome.document["status"], outcome.document["failure_kind"]) == ("error", "QueryRejected")
