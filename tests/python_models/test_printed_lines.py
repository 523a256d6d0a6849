"""What code prints in Tidegate's own process is in its log, and nowhere in the output of the command."""

from __future__ import annotations

import sys
import threading

import pytest

from tidegate.python_models.printed_lines import PrintedLines, printing_to


def show() -> None:
    """As a library prints: `DataFrame.show()`, `printSchema()`."""
    print("+---+\n| x |\n+---+")


def test_whole_lines_go_to_the_log_and_the_rest_of_one_at_the_end(capsys: pytest.CaptureFixture[str]) -> None:
    lines: list[str] = []
    streams = sys.stdout, sys.stderr
    with printing_to(lines.append):
        show()
        print("a", end="")
        sys.stdout.writelines(["b\n", "c\n"])
        print("why", file=sys.stderr)
        sys.stdout.flush()
        print("rest", end="")
    assert lines == ["+---+", "| x |", "+---+", "ab", "c", "why", "rest"]
    assert (sys.stdout, sys.stderr) == streams
    assert capsys.readouterr() == ("", "")


def test_each_thread_prints_to_its_own_log_and_the_others_as_before(capsys: pytest.CaptureFixture[str]) -> None:
    lines: dict[str, list[str]] = {"a": [], "b": []}
    both = threading.Barrier(3, timeout=30)

    def work(name: str) -> None:
        with printing_to(lines[name].append):
            both.wait()
            print(name)
            both.wait()

    threads = [threading.Thread(target=work, args=(name,)) for name in lines]
    for thread in threads:
        thread.start()
    both.wait()
    print("the command")
    both.wait()
    for thread in threads:
        thread.join(30)
    print("its end")
    assert lines == {"a": ["a"], "b": ["b"]}
    assert capsys.readouterr().out == "the command\nits end\n"


def test_what_the_log_prints_in_turn_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    with printing_to(lambda line: print(f"a.model: {line}")) as log:
        print("one")
        log("two")
    assert capsys.readouterr().out == "a.model: one\na.model: two\n"


def test_the_streams_are_whole_again_after_a_failure() -> None:
    streams, lines = (sys.stdout, sys.stderr), list[str]()

    def fail() -> None:
        with printing_to(lines.append):
            print("before", end="")
            raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        fail()
    assert (lines, (sys.stdout, sys.stderr)) == (["before"], streams)


def test_lines_of_several_threads_stay_whole() -> None:
    lines: list[str] = []
    stream = PrintedLines(lines.append)
    threads = [threading.Thread(target=lambda: [stream.write("abc\n") for _ in range(200)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert lines == ["abc"] * 800
