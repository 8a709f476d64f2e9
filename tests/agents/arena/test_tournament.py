"""Tournaments: nothing lost, nothing repeated, the same table whatever interrupts them."""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from contextlib import chdir

import numpy as np
import pytest
import torch

from agents.arena import TournamentSettings, run_tournament
from agents.arena.journal import Journal
from agents.arena.match import play_unit
from agents.arena.tournament import list_units, read_tournament
from agents.neural.checkpoint import write_checkpoint
from oware_env.errors import OwareError

FIELD = ("random", "greedy", "careful")
TABLES = ("table.json", "table.csv", "pairings.csv", "table.txt")


def _settings(folder=None, **changes):
    values = {"agents": FIELD, "games": 16, "unit_openings": 2, "workers": 0} | changes
    return TournamentSettings(output=None if folder is None else str(folder), **values)


def _tables(folder):
    return [(folder / name).read_text() for name in TABLES]


def _lines(folder):
    path = folder / "games.jsonl"
    return path.read_bytes().splitlines(keepends=True) if path.exists() else []


def _same(result, other):
    games = zip(result.matches, other.matches, strict=True)
    return all(
        np.array_equal(one, two)
        for a, b in games
        for one, two in zip(a.games, b.games, strict=True)
    )


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A tournament that ran through, and its folder."""
    folder = tmp_path_factory.mktemp("tournament") / "whole"
    return run_tournament(_settings(folder)), folder


def test_a_round_robin_plays_every_pairing_in_full(whole):
    result, folder = whole
    assert [(match.a, match.b) for match in result.matches] == [
        ("random", "greedy"),
        ("random", "careful"),
        ("greedy", "careful"),
    ]
    for match in result.matches:
        assert match.games.openings.tolist() == [game // 2 for game in range(16)]
    units = [json.loads(line)["unit"] for line in _lines(folder)]
    assert sorted(units) == list(range(12))


def test_a_gauntlet_plays_the_first_agent_against_each_other():
    result = run_tournament(_settings(format="gauntlet"))
    assert [(match.a, match.b) for match in result.matches] == [
        ("random", "greedy"),
        ("random", "careful"),
    ]
    assert "score in % against" not in str(result)
    assert all(f"\n{match}\n" in str(result) for match in result.matches)  # with its interval


def test_a_pairing_does_not_depend_on_who_else_takes_part(whole):
    alone = run_tournament(_settings(agents=("greedy", "careful")))
    assert np.array_equal(alone.matches[0].games.moves, whole[0].matches[2].games.moves)


def test_processes_give_the_same_tables(whole, tmp_path):
    result = run_tournament(_settings(tmp_path / "processes", workers=2))
    assert _same(result, whole[0])
    assert _tables(tmp_path / "processes") == _tables(whole[1])


def test_progress_counts_games(tmp_path):
    seen = []
    run_tournament(_settings(tmp_path / "new"), lambda done, total: seen.append((done, total)))
    assert seen == [(4 * units, 48) for units in range(13)]


def test_a_finished_tournament_is_read_and_not_played_again(whole, tmp_path):
    seen = []
    before = _lines(whole[1])
    result = run_tournament(_settings(whole[1]), lambda done, total: seen.append(done))
    assert seen == [48]
    assert _same(result, whole[0]) and _lines(whole[1]) == before


@pytest.mark.parametrize("cut", [0, 1, 40, -1])
def test_a_torn_last_line_is_dropped_and_its_unit_played_again(whole, tmp_path, cut):
    folder = tmp_path / "torn"
    folder.mkdir()
    (folder / "tournament.json").write_bytes((whole[1] / "tournament.json").read_bytes())
    lines = _lines(whole[1])
    (folder / "games.jsonl").write_bytes(b"".join(lines[:5]) + lines[5][:cut])
    seen = []
    run_tournament(_settings(folder), lambda done, total: seen.append(done))
    assert seen[0] == 20
    assert sorted(_lines(folder)) == sorted(lines)
    assert _tables(folder) == _tables(whole[1])


@pytest.mark.parametrize("seed", [1, *(pytest.param(k, marks=pytest.mark.slow) for k in (2, 3))])
def test_a_tournament_killed_at_a_random_moment_and_resumed_gives_the_same_table(
    seed, whole, tmp_path
):
    folder = tmp_path / "killed"
    command = [sys.executable, "-m", "agents.arena.command", *FIELD, "--games", "16"]
    command += ["--unit-openings", "2", "--workers", "2", "--output", str(folder)]
    wait = random.Random(seed)
    for kill_after in (wait.randrange(1, 5), wait.randrange(5, 9)):
        driver = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while len(_lines(folder)) < kill_after and driver.poll() is None:
            time.sleep(0.002)
        time.sleep(wait.random() * 0.02)
        driver.send_signal(signal.SIGKILL)
        driver.wait()
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert _tables(folder) == _tables(whole[1])
    assert sorted(_lines(folder)) == sorted(_lines(whole[1]))
    assert done.stdout.startswith((folder / "table.txt").read_text())


def test_a_full_disk_is_a_clear_message_and_loses_nothing(whole, tmp_path):
    folder = tmp_path / "full"
    limited = (
        "import resource, sys; from agents.arena import play_match\n"
        "from agents.arena.command import main\n"
        "for name in ('random', 'careful'): play_match(name, 'greedy', games=2)  # compile first\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (4000, 4000)); sys.exit(main())"
    )
    command = [sys.executable, "-c", limited, *FIELD, "--games", "16", "--unit-openings", "2"]
    command += ["--workers", "0", "--output", str(folder)]
    environment = os.environ | {"PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 2
    assert done.stderr.startswith(f"error: cannot write the tournament to {folder}: File too large")
    assert len(done.stderr.splitlines()) == 1
    assert 0 < len(_lines(folder)) < 12
    run_tournament(_settings(folder))
    assert _tables(folder) == _tables(whole[1])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"games": 18}, "games is 16 there and 18 here"),
        ({"seed": 1}, "seed is 0 there and 1 here"),
        ({"agents": ("greedy", "random")}, "agents is random, greedy, careful there and greedy"),
    ],
)
def test_other_settings_are_refused_with_the_difference(whole, changes, message):
    before = _lines(whole[1])
    with pytest.raises(OwareError, match=message):
        run_tournament(_settings(whole[1], **changes))
    assert _lines(whole[1]) == before


def test_a_folder_that_is_no_tournament_is_refused_untouched(tmp_path):
    (tmp_path / "thesis.txt").write_text("precious")
    with pytest.raises(OwareError, match="is not empty and holds no tournament"):
        run_tournament(_settings(tmp_path))
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]
    (tmp_path / "tournament.json").write_text("{}")
    with pytest.raises(OwareError, match="does not describe a tournament"):
        run_tournament(_settings(tmp_path))


def test_a_damaged_line_is_named(whole, tmp_path):
    (tmp_path / "tournament.json").write_bytes((whole[1] / "tournament.json").read_bytes())
    (tmp_path / "games.jsonl").write_bytes(b'{"unit": 0, "games"\n' + _lines(whole[1])[1])
    with pytest.raises(OwareError, match=r"games\.jsonl is damaged at line 1"):
        run_tournament(_settings(tmp_path))


def _journal(folder, **changes):
    settings = _settings(folder, **changes)
    return Journal(folder, settings, list_units(settings))


def test_two_processes_cannot_play_in_one_folder(tmp_path):
    settings = _settings(tmp_path / "shared")
    line = rf"another process \({os.getpid()}\) is writing the tournament {tmp_path}/shared"
    with _journal(tmp_path / "shared"), pytest.raises(OwareError, match=line):
        run_tournament(settings)


def test_a_journal_gives_back_exactly_what_it_was_given(tmp_path):
    games = play_unit(list_units(_settings())[0])
    with _journal(tmp_path / "journal") as journal:
        journal.append(0, games)
    with _journal(tmp_path / "journal") as journal:
        found = journal.games[0]
    for one, other in zip(games, found, strict=True):
        assert one.dtype == other.dtype and np.array_equal(one, other)


def _network(folder, value):
    weights = {"weight": torch.full((2,), value)}
    write_checkpoint(folder, {"ema": weights}, {"rules": {}, "network": "tiny"})


@pytest.fixture
def with_network(tmp_path):
    """A tournament of a network with one unit done; its folder."""
    _network(tmp_path / "run", 1.0)
    games = play_unit(list_units(_settings())[0])
    with _journal(tmp_path / "out", agents=("random", str(tmp_path / "run"))) as journal:
        journal.append(0, games)
    return tmp_path / "out"


def test_changed_weights_are_noticed(tmp_path, with_network):
    shutil.rmtree(tmp_path / "run")
    _network(tmp_path / "run", 2.0)
    with pytest.raises(OwareError, match="has changed since the tournament"):
        _journal(with_network, agents=("random", str(tmp_path / "run"))).__enter__()


def test_a_network_is_known_by_its_weights_whatever_its_folder_is_called(tmp_path, with_network):
    (tmp_path / "run").rename(tmp_path / "moved")
    with chdir(tmp_path), _journal(with_network, agents=("random", "./moved")) as journal:
        assert list(journal.games) == [0]
    shutil.rmtree(tmp_path / "moved")
    with pytest.raises(OwareError, match="holds 4 of 16 games"):
        read_tournament(with_network)  # which needs no network


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"agents": ("random",)}, "at least two agents, not 1"),
        ({"agents": ("alphabeta", "alphabeta:depth=6")}, "'alphabeta:depth=6' is given twice"),
        ({"agents": ("random", "gredy")}, "unknown agent 'gredy'; the nearest is 'greedy'"),
        ({"agents": ("random", "runs/absent")}, "there is no folder runs/absent"),
        ({"games": 15}, "games must be an even number"),
        ({"games": -4}, "games must be greater than or equal to 2, not -4"),
        ({"games": "4"}, "games must be a valid integer, not '4'"),
        ({"anchor": "feeder"}, "anchor 'feeder' does not play"),
        ({"format": "swiss"}, "format must be 'round-robin' or 'gauntlet', not 'swiss'"),
        ({"seed": -1}, "seed must be greater than or equal to 0"),
        ({"game": 4}, "unknown key 'game'; the nearest is 'games'"),
    ],
)
def test_wrong_settings_are_refused_in_one_line(changes, message):
    with pytest.raises(OwareError) as caught:
        _settings(**changes)
    assert message in str(caught.value) and "\n" not in str(caught.value)
