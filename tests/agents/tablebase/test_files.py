"""Bad tables and bad disks, as a user meets them: one line, exit code 2, no traceback."""

import errno
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from agents.console import run_command
from agents.tablebase import build as build_module
from agents.tablebase import files as files_module
from agents.tablebase.build import build_table
from agents.tablebase.probe import Tablebase, open_table
from agents.tablebase_command import run
from oware_env.errors import OwareError
from oware_env.rules import AWARI

ROOT = Path(__file__).resolve().parents[3]
POSITION = "0-0-0-0-1-1-2-0-0-0-0-0-22-22-S"  # four seeds


@pytest.fixture(autouse=True)
def nothing_is_open():
    """Each test opens its own tables."""
    open_table.cache_clear()


@pytest.fixture
def refused(capsys):
    """A function (*words) -> the one line that the command prints as it ends with code 2."""

    def refused(*words):
        assert run_command(run, words) == 2
        printed = capsys.readouterr()
        lines = printed.err.splitlines()
        assert len(lines) == 1 and lines[0].startswith("error: "), printed.err
        return lines[0]

    return refused


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The bytes of a table of four seeds."""
    return build_table(4, folder=tmp_path_factory.mktemp("whole")).read_bytes()


def test_a_position_with_more_seeds_than_the_table(refused, tmp_path):
    line = refused("probe", POSITION, "--seeds", "3", "--folder", str(tmp_path))
    assert "4 seeds are on the board and the table holds up to 3" in line
    assert "oware-tablebase build --seeds 4" in line


@pytest.mark.parametrize(
    "words", [("probe", "5-0-0-0-1-1-2-0-0-0-0-3-18-18-S"), ("grade", "greedy", "--seeds", "12")]
)
def test_a_missing_table(refused, tmp_path, words):
    line = refused(*words, "--folder", str(tmp_path))
    assert "there is no table of 12 seeds" in line
    assert "build it with oware-tablebase build --seeds 12" in line


def test_a_table_of_other_rules(refused, tmp_path):
    build_table(4, AWARI, folder=tmp_path).rename(tmp_path / "abapa-4.safetensors")
    for words in (("probe", POSITION), ("grade", "greedy")):
        line = refused(*words, "--seeds", "4", "--folder", str(tmp_path))
        assert "was made under awari" in line and "it says nothing of abapa" in line


@pytest.mark.parametrize("size", [0, 7, 300, -1])
def test_a_truncated_table(refused, tmp_path, whole, size):
    (tmp_path / "abapa-4.safetensors").write_bytes(whole[:size])
    for words in (("probe", POSITION), ("grade", "greedy")):
        line = refused(*words, "--seeds", "4", "--folder", str(tmp_path))
        assert "abapa-4.safetensors is not a table, or it was cut off: delete it and build" in line


@pytest.mark.parametrize("place", [0, -1, -100, -200_000])
def test_one_flipped_byte(refused, tmp_path, whole, place):
    damaged = bytearray(whole)
    damaged[place] ^= 0x01
    (tmp_path / "abapa-4.safetensors").write_bytes(damaged)
    for words in (("probe", POSITION), ("grade", "greedy")):
        line = refused(*words, "--seeds", "4", "--folder", str(tmp_path))
        assert "abapa-4.safetensors is " in line


def test_every_flipped_bit_of_what_a_table_says_of_itself_is_noticed(tmp_path, whole):
    path = tmp_path / "abapa-4.safetensors"
    for place in range(8 + int.from_bytes(whole[:8], "little")):
        damaged = bytearray(whole)
        damaged[place] ^= 1 << place % 8
        path.write_bytes(damaged)
        with pytest.raises(OwareError, match=r"abapa-4.safetensors (is|has|cannot be read)"):
            Tablebase(path)


@pytest.mark.parametrize("words", [("build", "--seeds", "4"), ("probe", POSITION)])
def test_a_read_only_folder(refused, tmp_path, monkeypatch, words):
    """Root may write everywhere, so the refusal itself is played."""

    def refuse(*_, **__):
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr(Path, "mkdir", refuse)
    line = refused(*words, "--folder", str(tmp_path))
    assert "safetensors could not be written: Read-only file system" in line


def test_a_folder_that_is_a_file(refused, tmp_path):
    (tmp_path / "file").touch()
    line = refused("build", "--seeds", "4", "--folder", str(tmp_path / "file"))
    assert "abapa-4.safetensors could not be written: File exists" in line


@pytest.fixture
def full_disk():
    """Files hold at most a thousand bytes while this lasts."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, before)
    signal.signal(signal.SIGXFSZ, handler)


@pytest.mark.parametrize("seconds", [30.0, 0.0])
def test_a_full_disk(refused, tmp_path, full_disk, monkeypatch, seconds):
    """At the end of a build, and in the middle of it when it leaves a checkpoint."""
    monkeypatch.setattr(build_module, "SECONDS_BETWEEN_CHECKPOINTS", seconds)
    line = refused("build", "--seeds", "4", "--folder", str(tmp_path))
    assert "abapa-4.unfinished" in line if seconds == 0.0 else "abapa-4.safetensors" in line
    assert "could not be written: " in line
    assert list(tmp_path.iterdir()) == []


def test_a_disk_without_room_keeps_the_table_that_was_there(refused, tmp_path, whole, monkeypatch):
    path = tmp_path / "abapa-4.safetensors"
    path.write_bytes(whole)

    def refuse(descriptor):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(files_module.os, "fsync", refuse)
    line = refused("build", "--seeds", "4", "--folder", str(tmp_path))
    assert "abapa-4.safetensors could not be written: No space left on device" in line
    assert [left.name for left in tmp_path.iterdir()] == [path.name]
    assert path.read_bytes() == whole


# Says that it goes on at a ply, and saves after every ply.
SLOW_BUILD = """
import sys
from agents import tablebase_command
from agents.tablebase import build

build.SECONDS_BETWEEN_CHECKPOINTS = 0.0
restore = build.Build.restore
def restore_and_tell(self, checkpoint):
    found = restore(self, checkpoint)
    print("at", self.plies, flush=True)
    return found
build.Build.restore = restore_and_tell
sys.exit(tablebase_command.main())
"""


def _build_slowly(folder):
    return subprocess.Popen(
        [sys.executable, "-c", SLOW_BUILD, "build", "--seeds", "4", "--folder", str(folder)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_a_killed_build_goes_on_where_it_was(tmp_path, whole):
    process = _build_slowly(tmp_path)
    assert "solving" in process.stdout.readline()
    assert process.stdout.readline() == "at 0\n"
    while not (tmp_path / "abapa-4.unfinished").exists() and process.poll() is None:
        time.sleep(0.001)
    process.kill()
    process.communicate()
    assert not (tmp_path / "abapa-4.safetensors").exists()
    again = _build_slowly(tmp_path)
    out, err = again.communicate(timeout=120)
    assert (again.returncode, err) == (0, "")
    resumed = int(out.split("at ")[1].split()[0])
    assert 0 < resumed < 400
    assert (tmp_path / "abapa-4.safetensors").read_bytes() == whole
    assert not (tmp_path / "abapa-4.unfinished").exists()
