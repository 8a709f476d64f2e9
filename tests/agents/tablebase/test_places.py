"""Where tables lie, what a build may take, and two processes at one table."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from agents import tablebase_command
from agents.console import run_command
from agents.tablebase import room
from agents.tablebase.build import build_table
from agents.tablebase.checks import MOST_PLIES, MOST_SEEDS
from agents.tablebase.files import prepare_place, table_path, tables_folder
from agents.tablebase.probe import Tablebase, open_table
from agents.tablebase.report import describe_position
from oware_env.errors import OwareError
from oware_env.files import Lock
from oware_env.positions import Positions
from oware_env.rules import Rules
from oware_env.state import State

ROOT = Path(__file__).resolve().parents[3]
POSITION = "0-0-0-0-1-1-2-0-0-0-0-0-22-22-S"  # four seeds


def refusal(action, *arguments, **named):
    """The one line that an action is refused with."""
    with pytest.raises(OwareError) as caught:
        action(*arguments, **named)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({"OWARE_TABLES": "/t"}, "/t"),
        ({"OWARE_TABLES": "", "XDG_CACHE_HOME": "/c"}, "/c/oware/tables"),
        ({"XDG_CACHE_HOME": "", "HOME": "/h"}, "/h/.cache/oware/tables"),
        ({"XDG_CACHE_HOME": "here", "HOME": "/h"}, "/h/.cache/oware/tables"),
        ({"HOME": "/"}, "/.cache/oware/tables"),
    ],
)
def test_an_empty_or_relative_cache_is_never_the_current_folder(monkeypatch, variables, expected):
    for name in ("OWARE_TABLES", "XDG_CACHE_HOME", "HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert str(tables_folder()) == expected


def test_without_a_home_it_is_said_what_to_set(monkeypatch):
    for name in ("OWARE_TABLES", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    for home in ("~", "relative"):
        monkeypatch.setattr(os.path, "expanduser", lambda path, home=home: home)
        assert "set OWARE_TABLES to a folder" in refusal(build_table, 2)


def test_an_unwritable_usual_folder_says_what_to_set(monkeypatch, tmp_path):
    (tmp_path / "oware").touch()
    monkeypatch.delenv("OWARE_TABLES", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    open_table.cache_clear()
    for action in (build_table, open_table):
        message = refusal(action, 2)
        assert message.startswith(f"{tmp_path}/oware/tables/abapa-2.safetensors could not be")
        assert message.endswith("; set OWARE_TABLES to a folder that can be")


@pytest.mark.parametrize("name", ["a" * 300, "日" * 100, "a\0b", "\x1b[31m", "[**", ".." * 200])
def test_any_name_of_a_folder_is_taken_or_refused(tmp_path, name, monkeypatch):
    folder = tmp_path / name
    for action in (
        lambda: build_table(1, folder=folder),
        lambda: open_table(1, folder=folder),
        lambda: describe_position(State.parse(POSITION), 12, folder),
        lambda: describe_position(State.parse(POSITION), None, folder / "deeper"),
        lambda: prepare_place(folder / name),
        lambda: Tablebase(folder),
    ):
        try:
            action()
        except OwareError as error:
            assert "\n" not in str(error)


@pytest.mark.parametrize("name", ["", ".", "/", "here"])
def test_a_file_cannot_take_the_place_of_a_folder(tmp_path, name, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "here").mkdir()
    assert "could not be written: it is a folder" in refusal(prepare_place, Path(name))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--seeds", "25"], "seeds must be less than or equal to 24"),
        (["--max-plies", str(2**63)], "max_plies must be less than or equal to 10000"),
        (["--max-plies", str(2**64)], "max_plies must fit 64 bits"),
        (["--seeds", "3", "--max-plies", str(10**9)], "max_plies must be less than or equal"),
        (["--first", str(10**9)], "first must be less than or equal to 10000"),
        (["--first", "200", "--max-plies", "100"], "plies must be a range such as (100, 400)"),
    ],
)
def test_a_build_that_would_never_end_is_refused(tmp_path, words, message):
    words = ["build", *words, "--folder", str(tmp_path)]
    assert message in refusal(tablebase_command.run, words)
    assert list(tmp_path.iterdir()) == []


def test_the_limits_of_the_command_are_those_of_the_tables():
    assert tablebase_command.MOST_PLIES == MOST_PLIES
    fields = tablebase_command.BuildSettings.model_fields
    assert any(getattr(limit, "le", None) == MOST_SEEDS for limit in fields["seeds"].metadata)
    for model in (
        tablebase_command.BuildSettings,
        tablebase_command.ProbeSettings,
        tablebase_command.GradeSettings,
    ):
        for name, field in model.model_fields.items():
            if field.annotation is int:
                assert any(hasattr(limit, "le") for limit in field.metadata), name


@pytest.mark.parametrize(
    ("seeds", "rules", "plies"),
    [
        (3, Rules(max_plies=2**40), None),
        (3, Rules(max_plies="400"), None),
        (3, Rules(slam=False), None),
        (3, Rules(slam=[]), None),
        (3, (400, 0, 0, 0, 0), None),
        (3, Rules(), ()),
        (3, Rules(), (1, 2, 3)),
        (3, Rules(), ("1", 2)),
        (3, Rules(), (0, MOST_PLIES + 1)),
        (3, Rules(), (0, float("inf"))),
        (3, Rules(), 7),
        ("../3", Rules(), None),
        ([3], Rules(), None),
        ([10**5000], Rules(), None),
        (3, Rules(max_plies=10**5000), None),
        (3, Rules(), (0, 10**5000)),
    ],
)
def test_malformed_orders_are_refused_in_one_line(tmp_path, seeds, rules, plies):
    refusal(build_table, seeds, rules, plies=plies, folder=tmp_path)
    if plies is None:
        refusal(table_path, seeds, rules, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_table_too_large_for_the_memory_is_refused_before_any_work(tmp_path, monkeypatch):
    told = tmp_path / "meminfo"
    told.write_text("MemTotal:       8000000 kB\nMemAvailable:   5000000 kB\nSwapFree: 0 kB\n")
    monkeypatch.setattr(room, "_TOLD", told)
    monkeypatch.setattr(room, "_LIMITS", (tmp_path / "none",))
    assert refusal(build_table, 24, folder=tmp_path / "t") == (
        "a table of 24 seeds takes 39.1 GB of memory to build, and 5.1 GB are free here: ask for "
        "fewer seeds"
    )
    assert not (tmp_path / "t").exists()
    (tmp_path / "limit").write_text("100000000\n")  # a container's, below what the machine has
    monkeypatch.setattr(room, "_LIMITS", (tmp_path / "limit", tmp_path / "none"))
    assert "and 0.1 GB are free here" in refusal(build_table, 10, folder=tmp_path)
    (tmp_path / "limit").write_text("max\n")
    assert build_table(2, folder=tmp_path).exists()
    told.write_text("nothing that is known\n")
    assert list(room._limits()) == []


def test_a_build_that_gets_no_memory_is_one_line(tmp_path, monkeypatch):
    def refuse(*_):
        raise MemoryError

    monkeypatch.setattr(np, "repeat", refuse)
    assert "there is not enough memory to build" in refusal(build_table, 2, folder=tmp_path)
    assert list(tmp_path.iterdir()) == []


BUILDING = """
import sys
from pathlib import Path
from agents.tablebase.build import build_table

def wait(done, of):
    if done == 1:
        print("building", flush=True)
        sys.stdin.readline()

print(build_table(4, folder=Path(sys.argv[1]), progress=wait))
"""


@pytest.fixture
def building(tmp_path):
    """Another process in the middle of a table of four seeds; it goes on after a line."""
    process = subprocess.Popen(
        [sys.executable, "-c", BUILDING, str(tmp_path)],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "building\n"
    yield process
    process.kill()
    process.communicate()


def test_a_second_build_of_a_table_names_the_process_and_the_folder(tmp_path, building, capsys):
    words = ["build", "--seeds", "4", "--folder", str(tmp_path)]
    assert run_command(tablebase_command.run, words) == 2
    assert capsys.readouterr().err == (
        f"error: another process ({building.pid}) is writing the table abapa-4 in {tmp_path}: "
        "wait for it or stop it\n"
    )
    assert build_table(3, folder=tmp_path).exists()  # another table is free
    building.communicate("\n")
    assert building.returncode == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "abapa-3.safetensors",
        "abapa-4.safetensors",
    ]


def test_a_table_that_is_being_built_is_waited_for_and_used(tmp_path, building):
    open_table.cache_clear()
    found = []
    threads = [
        threading.Thread(target=lambda: found.append(open_table(4, folder=tmp_path)))
        for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    threads[0].join(0.3)
    assert threads[0].is_alive() and not found
    building.stdin.write("\n")
    building.stdin.flush()
    for thread in threads:
        thread.join(60)
    assert [table.seeds for table in found] == [4, 4]
    assert [path.name for path in tmp_path.iterdir()] == ["abapa-4.safetensors"]


def test_a_killed_build_locks_nobody_out(tmp_path, building):
    building.kill()
    building.wait()
    assert Tablebase(build_table(4, folder=tmp_path)).seeds == 4
    assert [path.name for path in tmp_path.iterdir()] == ["abapa-4.safetensors"]


def test_a_lock_that_is_removed_is_not_held_twice(tmp_path):
    first = Lock(tmp_path, "table")
    order = []

    def take():
        with Lock(tmp_path, "table", wait=True) as second:
            order.append("second")
            second.release()

    thread = threading.Thread(target=take)
    thread.start()
    thread.join(0.1)
    order.append("first")
    first.release()
    thread.join(10)
    assert order == ["first", "second"] and list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "boards",
    [
        np.full((1, 14), -1, np.int8),
        np.full((1, 14), 127, np.int8),
        np.zeros((1, 13), np.int8),
        np.zeros((2, 14), np.int8),
        np.full((1, 14), 0.5),
        np.full((1, 14), 256),
        np.zeros((0, 0), np.int8),
    ],
)
def test_boards_that_are_none_never_reach_a_kernel(table, boards):
    positions = Positions(boards, np.zeros(1, np.int32), np.zeros(1, np.uint64))
    refusal(table.bounds, positions, 400)
    refusal(table.move_bounds, positions, 400)
    sound = Positions(np.zeros((1, 14), np.int8), *positions[1:])
    for max_plies in (2**70, "400", 4.5, None):
        refusal(table.bounds, sound, max_plies)
    for seeds in (-1, 10, "4", 2**70):
        refusal(table.level_bounds, seeds)
