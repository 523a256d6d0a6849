"""hooks test: what each hook answers to a sample."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.calling import Call
from tests.hooks.receiver import Reply, receiving


def configure(project: Path, text: str) -> None:
    (project / "tidegate.toml").write_text('[project]\nname = "shop"\n' + text)


def test_each_hook_that_listens_is_tried_and_tells(project: Path, tidegate: Call) -> None:
    with receiving() as receiver:
        configure(
            project,
            f"""
[[hooks]]
name = "gate"
events = ["pipeline_error", "pipeline_start"]
command = "echo heard $TIDEGATE_EVENT"
on_failure = "abort"
[[hooks]]
name = "web"
events = ["pipeline_error"]
url = "{receiver.url}"
async = true
[[hooks]]
name = "other"
events = ["model_error"]
command = "exit 1"
""",
        )
        told = tidegate("hooks", "test", "pipeline_error")
    assert told.code == 0
    gate, web, end = told.out.splitlines()
    assert gate.startswith("[OK]   gate  heard pipeline_error (")
    assert web.startswith("[OK]   web   HTTP 200 (")
    assert end == "2 hooks called for pipeline_error"
    (came,) = receiver.posts
    assert (came.document["project"], came.document["data"]["test"]) == ("shop", True)


def test_one_that_fails_ends_with_1_whatever_its_failure_would_do(project: Path, tidegate: Call) -> None:
    configure(project, '[[hooks]]\nevents = "model_error"\ncommand = "echo no; exit 7"\non_failure = "ignore"\n')
    told = tidegate("hooks", "test", "model_error")
    assert told.code == 1
    assert told.out.splitlines()[0].startswith("[FAIL] hook 1  exit code 7: no (")
    document = tidegate("hooks", "test", "model_error", "--json").document
    assert (document["command"], document["status"]) == ("hooks test", "failed")
    (answer,) = document["answers"]
    assert (answer["hook"], answer["status"], answer["answer"]) == ("hook 1", "failed", "exit code 7: no")


def test_the_sample_has_the_status_that_the_hook_waits_for(project: Path, tidegate: Call) -> None:
    configure(
        project,
        '[[hooks]]\nevents = "after_model_run"\nstatus = ["blocked"]\nmodels = ["silver.*"]\n'
        'command = "echo $TIDEGATE_MODEL $TIDEGATE_STATUS"\n',
    )
    assert "silver.orders blocked" in tidegate("hooks", "test", "after_model_run").out


def test_an_event_that_nobody_hears_is_told(project: Path, tidegate: Call) -> None:
    told = tidegate("hooks", "test", "state_synced")
    assert (told.code, told.out) == (0, "No hook listens to state_synced.\n")


def test_an_unknown_event_is_told_with_the_nearest(project: Path, tidegate: Call) -> None:
    told = tidegate("hooks", "test", "pipline_eror")
    assert told.code == 1
    assert "There is no event 'pipline_eror'. Did you mean pipeline_error" in told.err


@pytest.mark.parametrize("secret", ["t0ken-of-mine"])
def test_no_secret_is_shown(project: Path, tidegate: Call, monkeypatch: pytest.MonkeyPatch, secret: str) -> None:
    monkeypatch.setenv("TOKEN", secret)
    with receiving(lambda came: Reply(403, f"wrong: {came.headers['authorization']}")) as receiver:
        configure(
            project,
            f'[[hooks]]\nevents = "model_error"\nurl = "{receiver.url}/${{TOKEN}}"\n'
            'headers = { Authorization = "Bearer ${TOKEN}" }\n',
        )
        told = tidegate("hooks", "test", "model_error", "--json")
    assert told.code == 1
    assert secret not in told.out + told.err
    assert "HTTP 403: wrong: ***" in told.out
