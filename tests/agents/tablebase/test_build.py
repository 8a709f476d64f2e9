import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from agents.tablebase import build as build_module
from agents.tablebase.build import Build, build_table
from agents.tablebase.checks import MOST_SEEDS
from agents.tablebase.files import read_contents, table_path, tables_folder, write_contents
from agents.tablebase.index import count_boards
from agents.tablebase.probe import Tablebase, probe
from oware_env.errors import OwareError
from oware_env.rules import Rules

ROOT = Path(__file__).resolve().parents[3]

# Saves after every ply, so that a kill at any moment finds a checkpoint or the middle of one.
SLOW_BUILD = """
import sys
from pathlib import Path
from agents.tablebase import build

build.SECONDS_BETWEEN_CHECKPOINTS = 0.0
print("ready", flush=True)
build.build_table(6, folder=Path(sys.argv[1]))
"""


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The bytes of a table of six seeds, built in one go."""
    return build_table(6, folder=tmp_path_factory.mktemp("whole")).read_bytes()


@pytest.mark.parametrize("delay", [0.0, 0.05, 0.2, 0.4])
def test_a_build_killed_at_any_moment_and_begun_again_gives_the_same_bytes(tmp_path, whole, delay):
    command = [sys.executable, "-c", SLOW_BUILD, str(tmp_path)]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "ready\n"
    time.sleep(delay)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert build_table(6, folder=tmp_path).read_bytes() == whole
    left_over = {path.suffix for path in tmp_path.iterdir()} - {".safetensors", ".part"}
    assert not left_over


def test_an_unfinished_build_goes_on_where_it_saved(tmp_path, whole):
    plies = []

    def stop(done, of):
        plies.append(done)
        if done == 150:
            raise KeyboardInterrupt

    def note(done, of):
        plies.append(done)

    build_module.SECONDS_BETWEEN_CHECKPOINTS, before = 0.0, build_module.SECONDS_BETWEEN_CHECKPOINTS
    try:
        with pytest.raises(KeyboardInterrupt):
            build_table(6, folder=tmp_path, progress=stop)
    finally:
        build_module.SECONDS_BETWEEN_CHECKPOINTS = before
    path = build_table(6, folder=tmp_path, progress=note)
    assert plies == [*range(1, 151), *range(150, 401)]
    assert path.read_bytes() == whole


def test_the_checkpoint_of_another_range_is_not_gone_on_with(tmp_path):
    build = Build(4, Rules(), 100, 200)
    build.save(tmp_path / "abapa-4.unfinished")
    assert not Build(4, Rules(), 100, 400).restore(tmp_path / "abapa-4.unfinished")
    assert Build(4, Rules(), 100, 200).restore(tmp_path / "abapa-4.unfinished")


def test_the_number_of_threads_does_not_change_a_byte(tmp_path, whole, monkeypatch):
    monkeypatch.setattr(os, "cpu_count", lambda: 5)
    assert build_table(6, folder=tmp_path).read_bytes() == whole


def test_a_table_says_what_it_is(tmp_path):
    _, facts = read_contents(build_table(3, Rules(max_plies=250), folder=tmp_path))
    assert facts["rules"] == [250, 0, 0, 0, 0]
    assert (facts["seeds"], facts["first"], facts["last"]) == (3, 100, 250)


@pytest.mark.parametrize("plies", [(0, 400), (0, 0), (30, 60), (120, 121)])
def test_any_range_of_plies_gives_the_same_values(tmp_path, plies, boards_of):
    first, last = plies
    wide = Tablebase(build_table(4, folder=tmp_path / "wide"))
    table = Tablebase(build_table(4, plies=plies, folder=tmp_path))
    for left in (0, first, (first + last) // 2, last):
        for board in boards_of(4)[::9]:
            assert probe(board, left, table.arrays) == probe(board, left, wide.arrays)


def test_a_long_move_limit_keeps_every_value_of_fewer_seeds_only(tmp_path, monkeypatch):
    monkeypatch.setattr(build_module, "EXACT_BYTES", 401 * count_boards(4))
    table = Tablebase(build_table(6, folder=tmp_path))
    assert table.exact_seeds == 4


@pytest.mark.parametrize("seeds", [0, -1, MOST_SEEDS + 1, True, 4.0, "4"])
def test_a_number_of_seeds_that_is_no_use_is_refused(tmp_path, seeds):
    with pytest.raises(OwareError, match=r"seeds must be a whole number from 1"):
        build_table(seeds, folder=tmp_path)


@pytest.mark.parametrize("plies", [(5, 4), (-1, 100)])
def test_a_range_that_is_none_is_refused(tmp_path, plies):
    with pytest.raises(OwareError, match=r"plies must be a range"):
        build_table(4, plies=plies, folder=tmp_path)


def test_tables_are_not_made_for_other_variants(tmp_path):
    with pytest.raises(OwareError, match=r"tables are made for abapa and awari, not variant"):
        table_path(4, Rules(slam=1), tmp_path)


@pytest.mark.parametrize("place", [0, 7, 30, 500, -1])
def test_one_flipped_byte_is_noticed(tmp_path, whole, place):
    damaged = bytearray(whole)
    damaged[place] ^= 0x10
    path = tmp_path / "abapa-6.safetensors"
    path.write_bytes(damaged)
    with pytest.raises(OwareError, match=r"abapa-6.safetensors"):
        Tablebase(path)


@pytest.mark.parametrize("size", [0, 4, 100, 5000, -1])
def test_a_truncated_file_is_noticed(tmp_path, whole, size):
    path = tmp_path / "abapa-6.safetensors"
    path.write_bytes(whole[:size])
    with pytest.raises(OwareError, match=r"abapa-6.safetensors"):
        Tablebase(path)


def test_a_file_of_something_else_is_refused(tmp_path):
    path = tmp_path / "abapa-6.safetensors"
    path.write_text("not a table at all, but long enough to be read as one")
    with pytest.raises(OwareError, match=r"is not a table, or it was cut off"):
        Tablebase(path)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(OwareError, match=r"abapa-6.safetensors cannot be read: No such file"):
        Tablebase(tmp_path / "abapa-6.safetensors")


def test_a_folder_that_cannot_be_written_is_named(tmp_path):
    file = tmp_path / "file"
    file.touch()
    with pytest.raises(OwareError, match=r"could not be written: (Not a directory|File exists)"):
        build_table(2, folder=file / "below")


def test_a_full_disk_is_one_line_and_leaves_what_was_there(tmp_path, whole):
    path = tmp_path / "abapa-6.safetensors"
    path.write_bytes(whole)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))
        with pytest.raises(OwareError, match=r"abapa-6.safetensors could not be written"):
            build_table(6, folder=tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)
    assert path.read_bytes() == whole
    assert [left.name for left in tmp_path.iterdir()] == [path.name]


def test_a_kill_in_the_middle_of_writing_leaves_one_folder_that_is_cleared_later(
    tmp_path, whole, monkeypatch
):
    class Killed(BaseException):
        pass

    def half_a_file(arrays, filename, metadata):
        Path(filename).with_name(".tmpA1b2C3").write_bytes(b"half")
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr("safetensors.numpy.save_file", half_a_file)
        with pytest.raises(Killed):
            build_table(6, folder=tmp_path)
    (left_over,) = tmp_path.iterdir()
    assert left_over.suffix == ".part"
    os.utime(left_over, (0, 0))
    assert build_table(6, folder=tmp_path).read_bytes() == whole
    assert [path.name for path in tmp_path.iterdir()] == ["abapa-6.safetensors"]


def test_a_folder_that_another_process_may_be_writing_in_is_let_be(tmp_path):
    (tmp_path / ".abapa-2.unfinished.77.part").mkdir()
    build_table(2, folder=tmp_path)
    assert (tmp_path / ".abapa-2.unfinished.77.part").exists()


def test_what_is_written_comes_back(tmp_path):
    arrays = {"a": np.arange(6, dtype=np.int8).reshape(2, 3), "b": np.arange(4, dtype=np.int64)}
    write_contents(tmp_path / "x", arrays, {"number": 7})
    read, facts = read_contents(tmp_path / "x")
    assert facts["number"] == 7
    for name, array in arrays.items():
        assert read[name].dtype == array.dtype
        assert read[name].tolist() == array.tolist()


def test_the_folder_is_the_users_own(monkeypatch, tmp_path):
    monkeypatch.setenv("OWARE_TABLES", str(tmp_path))
    assert tables_folder() == tmp_path
    monkeypatch.delenv("OWARE_TABLES")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert tables_folder() == tmp_path / "oware" / "tables"
