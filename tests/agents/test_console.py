"""The edges of every command: signals, streams that go away, and what reaches the terminal."""

import os
import signal
import subprocess
import sys

import pytest

from agents.console import Stopped, handled_signals, run_command
from oware_env.errors import OwareError

COMMANDS = (
    "agents.arena.command",
    "agents.play.command",
    "agents.tablebase_command",
    "train.command",
    "train.compare",
)
NOISY = """
import sys
from agents.console import run_command
def action(words):
    for number in range(100_000):
        print(number)
sys.exit(run_command(action, []))
"""
QUIET = NOISY.replace("100_000", "3")


def _bash(line, *words):
    """Run a line of bash, in which "$0" is this Python and "$1" the first word."""
    return subprocess.run(
        ["bash", "-c", line, sys.executable, *words], capture_output=True, text=True, timeout=120
    )


def _python(code, redirection):
    return _bash(f'"$0" -c "$1" {redirection}', code)


@pytest.mark.parametrize("code", [NOISY, QUIET], ids=["much", "little"])
def test_a_reader_that_goes_away_is_no_fault(code):
    done = _python(code, "| head -1; exit ${PIPESTATUS[0]}")
    assert (done.returncode, done.stdout, done.stderr) == (0, "0\n", "")


@pytest.mark.parametrize("code", [NOISY, QUIET], ids=["much", "little"])
def test_a_full_device_is_said_in_one_line(code):
    done = _python(code, "> /dev/full")
    assert done.returncode == 2
    assert done.stderr.startswith("error: ") and "No space left on device" in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_closed_output_is_no_fault_and_leaves_its_number_to_no_file(tmp_path):
    code = QUIET.replace(
        "def action(words):",
        f"def action(words):\n    open({str(tmp_path / 'file')!r}, 'w').write('whole')",
    )
    for redirection in (">&-", "<&- >&- 2>&-"):
        done = _python(code, redirection)
        assert (done.returncode, done.stderr) == (0, "")
        assert (tmp_path / "file").read_text() == "whole"


@pytest.mark.parametrize("module", COMMANDS)
@pytest.mark.parametrize(
    ("redirection", "code"), [("| head -1", 0), ("> /dev/full", 2), (">&-", 0)]
)
def test_the_help_of_every_command_ends_in_peace(module, redirection, code):
    done = _bash(f'set -o pipefail; "$0" -m {module} --help {redirection}')
    assert done.returncode == code
    assert done.stderr.count("\n") == (code == 2)


def test_a_terminal_of_one_column_gets_its_help():
    done = subprocess.run(
        [sys.executable, "-m", "agents.arena.command", "--help"],
        env=os.environ | {"COLUMNS": "1"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0 and "--games INT" in done.stdout


@pytest.mark.parametrize(("number", "code"), [("SIGTERM", 143), ("SIGHUP", 129), ("SIGINT", 130)])
def test_signals_that_stop_a_process_stop_a_command_alike(capsys, number, code):
    kept = []

    def action(words):
        try:
            os.kill(os.getpid(), getattr(signal, number))
        except KeyboardInterrupt:
            kept.append("everything")
            raise

    before = signal.getsignal(signal.SIGTERM)
    assert run_command(action, []) == code
    assert kept == ["everything"] and capsys.readouterr().err == "stopped\n"
    assert signal.getsignal(signal.SIGTERM) is before


def test_a_signal_that_is_ignored_stays_so():
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as nohup does
    try:
        assert run_command(lambda words: os.kill(os.getpid(), signal.SIGHUP), []) == 0
    finally:
        signal.signal(signal.SIGHUP, before)


def test_signals_are_handled_in_their_block_alone():
    seen = []
    with handled_signals(lambda number, frame: seen.append(number), [signal.SIGTERM]):
        os.kill(os.getpid(), signal.SIGTERM)
    assert seen == [signal.SIGTERM]
    with pytest.raises(Stopped):
        raise Stopped(signal.SIGTERM)


@pytest.mark.parametrize(
    ("fault", "line"),
    [
        (OwareError("two\nlines \x1b[31m"), "error: two lines \\x1b[31m\n"),
        (OSError(28, "No space left on device", "a/b"), "a/b cannot be used: No space left"),
        (MemoryError("Unable to allocate 5 TiB"), "error: out of memory: Unable to allocate"),
    ],
)
def test_what_the_system_refuses_is_one_line(capsys, fault, line):
    def action(words):
        raise fault

    assert run_command(action, []) == 2
    said = capsys.readouterr().err
    assert line in said and said.count("\n") == 1 and "\x1b" not in said


@pytest.mark.parametrize("word", ["a\x1b[31m", "\x9b31m", "a\nb", "\x00", "\udcff"])
def test_a_word_with_a_control_character_is_refused(capsys, word):
    assert run_command(lambda words: pytest.fail("it began"), ["fine", word]) == 2
    said = capsys.readouterr().err
    assert "holds a control character" in said and said[:-1].isprintable()


def test_letters_that_the_terminal_lacks_are_written_out():
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            "import sys; from agents.console import run_command;"
            "sys.exit(run_command(lambda words: print('日本 −'), []))",
        ],
        env=os.environ | {"PYTHONIOENCODING": "latin-1:strict", "PYTHONUTF8": "0"},
        capture_output=True,
        timeout=60,
    )
    assert (done.returncode, done.stdout) == (0, rb"\u65e5\u672c \u2212" + b"\n")
