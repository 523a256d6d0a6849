"""How a run begins: anew, taken up where it was interrupted, or not at all because it has been done."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tidegate.config import Settings, load_settings
from tidegate.errors import KeyTakenError, RunInFlightError, SelectionError, TidegateError
from tidegate.planner.intervals import parse_time
from tidegate.results import CheckResult, ModelResult
from tidegate.runs.options import LATEST, RunOptions
from tidegate.runs.register import RegisteredRun, register_run
from tidegate.runs.result import Publish, RunResult
from tidegate.state import RunRecord, StateStore, open_state

NOON = datetime(2026, 11, 15, 12, tzinfo=UTC)


class Noon:
    """It moves only where a test says."""

    moment = NOON

    def now(self) -> datetime:
        return self.moment

    def monotonic(self) -> float:
        return self.moment.timestamp()

    def sleep(self, seconds: float) -> None: ...


@pytest.fixture(params=["sqlite", "postgresql"])
def settings(request: pytest.FixtureRequest, tmp_path: Path) -> Settings:
    (tmp_path / "tidegate.toml").write_text('[project]\nname = "shop"\n')
    settings = load_settings(tmp_path)
    if request.param == "sqlite":
        return settings
    return replace(settings, state=replace(settings.state, url=request.getfixturevalue("postgres_url")))


@pytest.fixture
def store(settings: Settings) -> Iterator[StateStore]:
    with open_state(settings.state.url) as store:
        yield store


def dead() -> int:
    """The number of a process that is gone."""
    process = subprocess.Popen(["true"])
    process.wait()
    return process.pid


def begun(store: StateStore, settings: Settings, clock: Noon | None = None, **options: Any) -> RunRecord:
    found = register_run(store, settings, RunOptions(**options), clock or Noon())
    assert isinstance(found, RegisteredRun)
    return found.record


def ended(store: StateStore, run: RunRecord, status: str) -> RunResult:
    model = ModelResult("a.b", "completed", "full_refresh", "full", "first run", 3, attempts=({"number": 1},))
    check = CheckResult("a.b", "not_null(x)", "audit", "error", "passed", 0, "", 5, samples=({"x": 1},))
    result = RunResult(
        run.run_id, status, run.run_id, Publish("run", ("a.b",)), NOON, 9, {"x": 1}, (model,), (check,), error="e"
    )
    store.finish_run(run.run_id, status, finished_at=NOON, duration_ms=9, result=result.to_dict(), resumes=run.resumes)
    return result


def interrupted(store: StateStore, settings: Settings, **options: Any) -> RunRecord:
    run = begun(store, settings, **options)
    lost = replace(run, status="running", pid=dead())
    assert store.take_over(run, lost)
    return lost


def test_a_run_that_was_interrupted_is_taken_up_as_it_was_asked_for(store: StateStore, settings: Settings) -> None:
    asked: dict[str, Any] = {
        "select": ("a.*", "b.c"),
        "full_refresh": True,
        "publish": "all",
        "vars": {"x": "1"},
        "confirmed": True,
        "from_": parse_time("2026-01-01"),
        "to": parse_time("2026-02-01"),
    }
    run = interrupted(store, settings, **asked)
    later = Noon()
    later.moment = NOON + timedelta(hours=2)
    again = register_run(store, settings, RunOptions(resume=run.run_id, concurrency=3, allow_deletes=True), later)
    assert isinstance(again, RegisteredRun)
    assert (again.record.run_id, again.record.started_at) == (run.run_id, NOON)
    assert (again.record.publish_mode, again.record.resumes) == ("all", 1)
    assert (again.record.pid, again.record.host) == (os.getpid(), socket.gethostname())
    assert again.record.heartbeat_at == later.moment
    assert again.options == RunOptions(**asked, concurrency=3, allow_deletes=True)
    assert store.reader().run(run.run_id) == again.record


@pytest.mark.parametrize("status", ["failed", "partial", "cancelled"])
def test_a_run_that_ended_badly_is_taken_up(store: StateStore, settings: Settings, status: str) -> None:
    run = begun(store, settings)
    ended(store, run, status)
    again = begun(store, settings, resume=LATEST)
    assert (again.run_id, again.status, again.result, again.error) == (run.run_id, "running", None, None)
    assert again.finished_at is None


@pytest.mark.parametrize("status", ["success", "skipped"])
def test_a_run_that_succeeded_gives_its_result_again_and_changes_nothing(
    store: StateStore, settings: Settings, status: str
) -> None:
    run = begun(store, settings)
    result = ended(store, run, status)
    before = store.reader().run(run.run_id)
    assert register_run(store, settings, RunOptions(resume=run.run_id), Noon()) == replace(result, repeated=True)
    assert store.reader().run(run.run_id) == before


def test_a_run_that_lives_is_named_with_who_does_it(store: StateStore, settings: Settings) -> None:
    run = begun(store, settings)
    with pytest.raises(RunInFlightError) as caught:
        register_run(store, settings, RunOptions(resume=run.run_id), Noon())
    sign = "last heartbeat 2026-11-15 12:00:00 UTC"
    assert str(caught.value) == (
        f"Run {run.run_id} is at work: process {os.getpid()} on {socket.gethostname()}, {sign}"
    )
    assert f"tidegate cancel {run.run_id}" in str(caught.value.remedy)


def test_a_run_on_another_host_lives_while_its_heart_beats(store: StateStore, settings: Settings) -> None:
    run = begun(store, settings)
    assert store.take_over(run, replace(run, host="far away"))
    clock = Noon()
    clock.moment = NOON + timedelta(seconds=89)
    with pytest.raises(RunInFlightError, match="on far away"):
        register_run(store, settings, RunOptions(resume=run.run_id), clock)
    clock.moment = NOON + timedelta(seconds=91)
    assert begun(store, settings, clock, resume=run.run_id).resumes == 1


@pytest.mark.parametrize("where", ["here", "elsewhere"])
def test_another_process_of_the_same_number_is_not_taken_for_the_run(
    store: StateStore, settings: Settings, where: str
) -> None:
    """After a restart, and in containers, numbers come again soon; in another container they say nothing."""
    run = begun(store, settings)
    assert run.process is not None
    place, _, began = run.process.rpartition(" ")
    mark = f"{place} {int(began) - 1}" if where == "here" else f"{place}0 {began}"
    assert store.take_over(run, replace(run, process=mark))
    clock = Noon()
    if where == "elsewhere":
        with pytest.raises(RunInFlightError):
            register_run(store, settings, RunOptions(resume=run.run_id), clock)
        clock.moment = NOON + timedelta(seconds=91)
    again = begun(store, settings, clock, resume=run.run_id)
    assert (again.resumes, again.process) == (1, run.process)


def test_a_process_that_has_ended_and_was_not_waited_for_is_dead(store: StateStore, settings: Settings) -> None:
    run = begun(store, settings)
    process = subprocess.Popen(["true"])
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    try:
        assert store.take_over(run, replace(run, pid=process.pid, process=None))
        assert begun(store, settings, resume=run.run_id).resumes == 1
    finally:
        process.wait()


def test_a_run_that_is_not_there_or_another_projects_is_told_with_the_nearest(
    store: StateStore, settings: Settings
) -> None:
    with pytest.raises(SelectionError, match="There is no run yet"):
        register_run(store, settings, RunOptions(resume=LATEST), Noon())
    run = interrupted(store, settings)
    with pytest.raises(SelectionError, match="There is no run 'run-20261115-120000-001'") as caught:
        register_run(store, settings, RunOptions(resume="run-20261115-120000-001"), Noon())
    assert f"Did you mean {run.run_id}?" in str(caught.value.remedy)
    other = replace(settings, project=replace(settings.project, name="other"))
    for name in (run.run_id, LATEST):
        with pytest.raises(SelectionError):
            register_run(store, other, RunOptions(resume=name), Noon())


def test_of_two_who_resume_at_once_one_wins_and_the_other_is_told_who(store: StateStore, settings: Settings) -> None:
    run = interrupted(store, settings)
    together, told = threading.Barrier(2), []

    def resume() -> None:
        with open_state(settings.state.url) as own:
            together.wait()
            try:
                register_run(own, settings, RunOptions(resume=run.run_id), Noon())
                told.append("won")
            except RunInFlightError as error:
                told.append(str(error).partition(",")[0])

    threads = [threading.Thread(target=resume) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(told) == [f"Run {run.run_id} is at work: process {os.getpid()} on {socket.gethostname()}", "won"]
    found = store.reader().run(run.run_id)
    assert found is not None
    assert found.resumes == 1


def test_a_key_that_succeeded_gives_that_result_again(store: StateStore, settings: Settings) -> None:
    run = begun(store, settings, idempotency_key="k", select=("a", "b"))
    result = ended(store, run, "success")
    again = register_run(store, settings, RunOptions(idempotency_key="k", select=("b", "a"), concurrency=2), Noon())
    assert again == replace(result, repeated=True)
    assert len(store.reader().runs()) == 1


@pytest.mark.parametrize("status", ["failed", "partial", "cancelled", "dead"])
def test_a_key_whose_run_came_to_nothing_runs_again(store: StateStore, settings: Settings, status: str) -> None:
    if status == "dead":
        run = interrupted(store, settings, idempotency_key="k")
    else:
        run = begun(store, settings, idempotency_key="k")
        ended(store, run, status)
    again = begun(store, settings, idempotency_key="k")
    assert again.run_id != run.run_id
    key = store.reader().key("shop", "k")
    assert key is not None
    assert key.run_id == again.run_id


def test_a_key_in_flight_is_refused_for_a_day(store: StateStore, settings: Settings) -> None:
    run = begun(store, settings, idempotency_key="k")
    assert store.take_over(run, replace(run, host="far away"))
    clock = Noon()
    clock.moment = NOON + timedelta(hours=23, minutes=59)
    with pytest.raises(RunInFlightError, match=f"Run {run.run_id} with the idempotency key 'k' is at work"):
        register_run(store, settings, RunOptions(idempotency_key="k"), clock)
    clock.moment = NOON + timedelta(hours=24)
    assert begun(store, settings, clock, idempotency_key="k").run_id != run.run_id


def test_a_key_with_another_request_is_an_error_that_names_the_difference(
    store: StateStore, settings: Settings
) -> None:
    run = begun(store, settings, idempotency_key="k", vars={"x": "1"})
    ended(store, run, "success")
    with pytest.raises(KeyTakenError) as caught:
        register_run(
            store, settings, RunOptions(idempotency_key="k", vars={"x": "2"}, from_=NOON, concurrency=4), Noon()
        )
    assert str(caught.value).endswith(f"another request, that of run {run.run_id} (not the same: from, vars)")
    other = replace(settings, project=replace(settings.project, name="other"))
    assert begun(store, other, idempotency_key="k").project == "other"


@pytest.mark.parametrize("key", ["", "k" * 256])
def test_a_key_that_cannot_be_one_is_refused(store: StateStore, settings: Settings, key: str) -> None:
    with pytest.raises(TidegateError, match="1 to 255 characters"):
        register_run(store, settings, RunOptions(idempotency_key=key), Noon())
    assert store.reader().runs() == ()


_FOUR_WITH_ONE_KEY = """
import os, sys
from dataclasses import replace
from pathlib import Path
from tidegate.config import load_settings
from tidegate.errors import RunInFlightError
from tidegate.runs.clock import SystemClock
from tidegate.runs.options import RunOptions
from tidegate.runs.register import RegisteredRun, register_run
from tidegate.state import open_state

settings = load_settings(Path(sys.argv[1]))
settings = replace(settings, state=replace(settings.state, url=sys.argv[2]))
open_state(settings.state.url).close()
ready, go, answered, over = (os.pipe() for _ in range(4))

def call():
    process = os.fork()
    if process:
        return process
    os.close(go[1])
    os.close(over[1])
    os.write(ready[1], b".")
    os.read(go[0], 1)
    try:
        with open_state(settings.state.url) as store:
            begun = register_run(store, settings, RunOptions(idempotency_key="k"), SystemClock())
        code = 10 if isinstance(begun, RegisteredRun) else 11
    except RunInFlightError:
        code = 12
    os.write(answered[1], b".")
    os.read(over[0], 1)  # none of them is dead before all have an answer
    os._exit(code)

processes = [call() for _ in range(4)]
for _ in processes:
    os.read(ready[0], 1)
os.close(go[1])
for _ in processes:
    os.read(answered[0], 1)
os.close(over[1])
print(*sorted(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) for process in processes))
"""


def test_of_four_processes_with_one_new_key_at_one_moment_one_runs(store: StateStore, settings: Settings) -> None:
    command = [sys.executable, "-c", _FOUR_WITH_ONE_KEY, str(settings.root), settings.state.url]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("10 12 12 12\n", "")
    assert len(store.reader().runs()) == 1


@pytest.mark.parametrize(
    ("name", "value"), [("api_token", "t0ken-of-mine"), ("shop_url", "postgresql://ann:t0ken-of-mine@db/shop")]
)
def test_a_secret_variable_is_not_recorded_and_is_given_again_to_resume(
    store: StateStore, settings: Settings, name: str, value: str
) -> None:
    run = interrupted(store, settings, vars={"day": "monday", name: value})
    kept = store.reader().run(run.run_id)
    assert kept is not None
    assert kept.options["vars"]["day"] == "monday"
    assert "t0ken-of-mine" not in str(kept)

    with pytest.raises(TidegateError, match=f"was begun with --var {name}: it is a secret") as missing:
        register_run(store, settings, RunOptions(resume=run.run_id), Noon())
    assert str(missing.value.remedy).endswith(f"tidegate run --resume {run.run_id} --var {name}=…")
    with pytest.raises(TidegateError, match=f"begun with another value of --var {name}"):
        register_run(store, settings, RunOptions(resume=run.run_id, vars={name: "another"}), Noon())
    assert store.reader().run(run.run_id) == kept

    given = {name: value, "day": "tuesday"}
    again = register_run(store, settings, RunOptions(resume=run.run_id, vars=given), Noon())
    assert isinstance(again, RegisteredRun)
    assert again.options.vars == {"day": "monday", name: value}
    assert "t0ken-of-mine" not in str(store.reader().run(run.run_id))


def test_another_secret_is_another_request(store: StateStore, settings: Settings) -> None:
    run = begun(store, settings, idempotency_key="k", vars={"password": "one", "x": "1"})
    result = ended(store, run, "success")
    same = RunOptions(idempotency_key="k", vars={"x": "1", "password": "one"})
    assert register_run(store, settings, same, Noon()) == replace(result, repeated=True)
    with pytest.raises(KeyTakenError, match=r"\(not the same: vars\)"):
        register_run(store, settings, replace(same, vars={"password": "two", "x": "1"}), Noon())
