"""The games of a run: each can be played again, and is the game that was learned from."""

import json
import shutil

import numpy as np
import pytest

from agents.neural.checkpoint import newest_checkpoint, read_state
from oware_env.records import read_ogn
from train.alphazero import AlphaZero
from train.games import GameStore, kept_game
from train.ppo import PPO
from train.run import run_config
from train.selfplay import SelfPlayUnit, start_games


@pytest.mark.parametrize("kind", ["alphazero", "adjudicated", "ppo"])
def test_every_game_of_a_unit_comes_back_as_it_was_played(tmp_path, tiny, tiny_ppo, kind):
    tables = {"selfplay.endgames": "adjudicate", "selfplay.table": 4, "max_plies": 400}
    config = {"alphazero": tiny(), "adjudicated": tiny(tables), "ppo": tiny_ppo()}[kind]
    algorithm = (PPO if kind == "ppo" else AlphaZero)(config)
    store, units = GameStore(tmp_path), []
    for number in range(2):
        units.append(algorithm.play(SelfPlayUnit(algorithm.unit_weights(number), config, number)))
        store.add(units[-1].moves, units[-1].ends)
    assert len(store) == 16
    stopped = 0
    for number in range(16):
        ends, row = units[number // 8].ends, number % 8
        game = store.game(number, config)
        start = start_games(config, number // 8).state(row)
        assert (game.record.start, game.record.ply) == (start.to_text(), start.ply)
        assert game.record.final.ply == ends.plies[row]
        assert game.scores == tuple(ends.scores[row])
        if "adjudicated" in game.reason:
            stopped += 1
            assert game.record.outcome is None
        else:
            assert game.record.outcome.scores == game.scores
            assert game.record.outcome.reason == game.reason
    assert (stopped > 0) == (kind == "adjudicated")
    store.close()


def test_replay_prints_a_game_move_by_move_and_as_a_record(finished, tmp_path, run_in, capsys):
    shutil.copytree(finished, tmp_path / "runs" / "tiny")
    capsys.readouterr()
    assert run_in(tmp_path, "replay", "tiny", "11") == 0
    out, err = capsys.readouterr()
    assert err == ""
    game = kept_game(finished, 11, run_config(finished))
    assert f"game 11 from ply {game.record.ply}: {game.record.start}" in out
    for state in game.record.states():
        assert state.to_text() in out
    assert f"{game.scores[0]}-{game.scores[1]} ({game.reason})" in out
    (record,) = read_ogn(out[out.index("[") :])
    assert record.moves == game.record.moves


def test_a_run_that_was_stopped_and_went_on_has_every_game_once(finished, tmp_path, run_in):
    shutil.copytree(finished, tmp_path / "runs" / "tiny")
    assert run_in(tmp_path, "--resume", "tiny", "--budget.games", "64") == 0
    run = tmp_path / "runs" / "tiny"
    state = read_state(newest_checkpoint(run))
    assert state["games_kept"]["results"]["rows"] == state["games"] == 64
    config = run_config(run)
    games = [kept_game(run, number, config) for number in (0, 47, 48, 63)]
    assert games[1] == kept_game(finished, 47, run_config(finished))
    plies = np.array([game.record.final.ply for game in games])
    lengths = [
        json.loads(line)["selfplay/game_length"]
        for line in (run / "metrics.jsonl").read_text().splitlines()
        if "selfplay/game_length" in line
    ]
    assert len(lengths) == 8 and (plies <= 40).all()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("tiny", "48"), "there is no game 48: the run holds games 0 to 47"),
        (("tiny", "-1"), "the number of a game is a whole number from 0, not '-1'"),
        (("tiny",), "give a run and the number of a game"),
        (("none", "0"), "runs/none is not the folder of a run"),
    ],
)
def test_a_game_that_is_not_there_is_one_line(finished, tmp_path, run_in, capsys, words, message):
    shutil.copytree(finished, tmp_path / "runs" / "tiny")
    capsys.readouterr()
    assert run_in(tmp_path, "replay", *words) == 2
    out, err = capsys.readouterr()
    assert out == "" and message in err and len(err.splitlines()) == 1


def test_a_damaged_file_of_games_is_named(finished, tmp_path, run_in, capsys):
    shutil.copytree(finished, tmp_path / "runs" / "tiny")
    path = tmp_path / "runs" / "tiny" / "games" / "moves" / "000000.rows"
    path.write_bytes(path.read_bytes()[:-3])
    capsys.readouterr()
    assert run_in(tmp_path, "replay", "tiny", "0") == 2
    assert "runs/tiny/games/moves/000000.rows was cut off" in capsys.readouterr().err
