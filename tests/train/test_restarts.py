"""Restarts: games begin where the search was most wrong, can be replayed, and resume exactly."""

import shutil
from itertools import pairwise

import numpy as np
import pytest

import train.selfplay as selfplay
from agents.neural.checkpoint import newest_checkpoint, read_state, read_tensors, write_checkpoint
from oware_env.rules import initial_board
from train.command import run_config
from train.games import GameStore, kept_game
from train.learner import Learner
from train.replay import SAMPLE
from train.restarts import TEMPERATURE, UNITS, Archive, Starts, worst_positions
from train.samples import Samples
from train.selfplay import SelfPlayUnit, play_unit, start_games


def _samples(games, regrets=None, length=5, seed=0):
    """Positions of ``length`` plies for each game, in the order of play: ply by ply."""
    random = np.random.default_rng((seed, len(games)))
    numbers = np.tile(np.asarray(games, np.int32), length)
    count = len(numbers)
    results = random.integers(0, 3, count).astype(np.int8)
    values = random.uniform(-1, 1, count).astype(np.float32)
    values[random.random(count) < 0.2] = np.nan
    if regrets is not None:
        results[:], values = 0, 1 - np.tile(np.asarray(regrets, np.float32), length)
    return Samples(
        inputs=random.integers(0, 9, (count, 15)).astype(np.uint8),
        policies=np.zeros((count, 6), np.float32),
        results=results,
        margins=np.zeros(count, np.int8),
        values=values,
        plies=np.repeat(np.arange(length, dtype=np.int32), len(games)) + 3,
        games=numbers,
    )


def _archive(tiny, **differences):
    given = {"selfplay.games": 8, "selfplay.restarts": 0.5, **differences}
    return Archive(tiny(given))


def test_the_worst_position_of_each_game_equals_a_slow_version():
    samples = _samples(range(40, 60))
    worst = {}
    for row in range(len(samples)):
        regret = abs(samples.values[row] - (1 - samples.results[row]))
        game = samples.games[row]
        if not np.isnan(regret) and (game not in worst or regret > worst[game][0]):
            worst[game] = regret, samples.plies[row], samples.inputs[row, :14].tolist()
    (boards, plies), regrets = worst_positions(samples)
    found = list(zip(regrets, plies, boards.tolist(), strict=True))
    assert found == [worst[game] for game in sorted(worst)]
    assert (boards.dtype, plies.dtype, regrets.dtype) == (np.int8, np.int32, np.float32)
    assert 1.0 < regrets.max() <= 2.0


def test_the_first_of_equally_wrong_positions_counts_and_a_game_without_search_does_not():
    samples = _samples([7, 8], [1.5, 0.5])
    samples.values[samples.games == 8] = np.nan
    starts, regrets = worst_positions(samples)
    assert (starts.plies.tolist(), regrets.tolist()) == ([3], [1.5])
    samples.values[:] = np.nan
    assert len(worst_positions(samples).regrets) == 0


def test_an_archive_draws_its_share_without_repetition_and_the_same_again(tiny):
    archive = _archive(tiny)
    assert archive.draw(0) is None, "nothing was played yet"
    archive.add(_samples(range(3), [1.0, 1.2, 1.1]))
    assert sorted(archive.draw(5).boards.tolist()) == sorted(archive.draw(6).boards.tolist())
    assert len(archive.draw(5).plies) == 3, "no more than there are"
    archive.add(_samples(range(8, 16)))
    drawn = [archive.draw(number) for number in range(30)]
    assert all(len(np.unique(starts.boards, axis=0)) == 4 for starts in drawn)
    assert len({starts.boards.tobytes() for starts in drawn}) > 20
    assert archive.draw(7).boards.tobytes() == drawn[7].boards.tobytes()
    other = _archive(tiny, seed=1)
    other.add(_samples(range(3), [1.0, 1.2, 1.1]))
    other.add(_samples(range(8, 16)))
    assert any((other.draw(n).boards != drawn[n].boards).any() for n in range(30))


def test_positions_are_drawn_by_their_regret(tiny):
    archive = _archive(tiny, **{"selfplay.restarts": 0.125})
    regrets = np.array([1.0, 1.25, 1.5, 1.75])
    samples = _samples(range(4), regrets)
    archive.add(samples)
    boards = worst_positions(samples).starts.boards
    drawn = np.concatenate([archive.draw(number).boards for number in range(4000)])
    shares = (drawn[:, None] == boards).all(axis=2).mean(axis=0)
    expected = np.exp(regrets / TEMPERATURE)
    assert shares == pytest.approx(expected / expected.sum(), abs=0.03)


def test_an_archive_knows_the_last_units_alone(tiny):
    archive = _archive(tiny)
    for unit in range(UNITS + 3):
        archive.add(_samples(range(2 * unit, 2 * unit + 2), [0.0, 0.1 * unit]))
    assert len(archive) == 2 * UNITS
    assert archive.figures()["archive/positions"] == 2 * UNITS
    mean = np.mean([0.1 * unit / 2 for unit in range(3, UNITS + 3)])
    assert archive.figures()["archive/regret"] == pytest.approx(mean, rel=1e-5)


@pytest.mark.parametrize("units", [0, 1, UNITS + 2])
def test_a_restored_archive_goes_on_like_the_first(tiny, tmp_path, units):
    first, second = _archive(tiny), _archive(tiny)
    second.add(_samples([99]))
    for unit in range(units):
        samples = _samples(range(4 * unit, 4 * unit + 4), seed=unit)
        samples.values[:] = np.nan if unit == 1 else samples.values  # a unit without any search
        first.add(samples)
    write_checkpoint(tmp_path / "step", {"archive": first.tensors()}, {})
    second.restore(read_tensors(tmp_path / "step", "archive"))
    for unit in range(units, units + 3):
        for archive in (first, second):
            archive.add(_samples(range(4 * unit, 4 * unit + 4), seed=unit))
        ours, theirs = first.draw(unit), second.draw(unit)
        assert ours.boards.tobytes() == theirs.boards.tobytes()
        assert ours.plies.tobytes() == theirs.plies.tobytes()


def test_without_restarts_nothing_is_kept(tiny):
    archive = Archive(tiny())
    archive.add(_samples(range(8)))
    assert (len(archive), archive.draw(3), archive.figures()) == (0, None, {})


@pytest.fixture(scope="module")
def starts(tiny):
    """Two positions from games of another unit, with South and with North to move."""
    games = start_games(tiny({"selfplay.games": 64}), 3).positions()
    rows = [int((games.plies % 2 == parity).argmax()) for parity in (0, 1)]
    boards, plies = games.boards[rows].copy(), games.plies[rows] + np.array([20, 10], np.int32)
    return Starts(boards, plies)


def test_the_last_games_begin_at_the_starts_and_the_others_as_ever(tiny, starts):
    config = tiny()
    usual, games = start_games(config, 5), start_games(config, 5, starts)
    for ours, theirs in zip(games.positions(), usual.positions(), strict=True):
        assert np.array_equal(ours[:6], theirs[:6])
    assert np.array_equal(games.positions().boards[6:], starts.boards)
    assert np.array_equal(games.positions().plies[6:], starts.plies)
    assert np.array_equal(games.positions().keys, usual.positions().keys)
    assert games.south_to_move[6:].tolist() == [True, False]
    assert games.state(6).ply == starts.plies[0]


def test_the_temperature_counts_from_where_a_game_began_again(tiny, starts, monkeypatch):
    config = tiny({"selfplay.temperature_plies": 4, "selfplay.search_plies": 400})
    turns, draw = [], selfplay.draw_moves

    def note(weights, keys, plies, exponents):
        turns.append(dict(zip(keys.tolist(), exponents.tolist(), strict=True)))
        return draw(weights, keys, plies, exponents)

    monkeypatch.setattr(selfplay, "draw_moves", note)
    weights = Learner(config).playing_weights()
    play_unit(SelfPlayUnit(weights, config, 2, starts=starts))
    begun = start_games(config, 2, starts).positions()
    late = config.selfplay.late_exponent
    for turn in range(6):
        for row, key in enumerate(begun.keys.tolist()):
            since = turn if row >= 6 else begun.plies[row] + turn
            assert turns[turn].get(key, 1.0 if since < 4 else late) == (1.0 if since < 4 else late)
    assert all(turns[3][key] == 1.0 for key in begun.keys[6:].tolist())


@pytest.mark.parametrize("south", [True, False])
def test_copies_of_one_start_become_different_games(tiny, starts, south):
    row = 0 if south else 1
    copies = Starts(np.repeat(starts.boards[row][None], 8, 0), np.repeat(starts.plies[row], 8))
    config = tiny({"selfplay.temperature_plies": 0})
    played = play_unit(SelfPlayUnit(Learner(config).playing_weights(), config, 2, starts=copies))
    moves, offsets = played.moves
    games = {moves[a:b].tobytes() for a, b in pairwise(offsets)}
    assert len(games) > 4


RUN = ["--selfplay.restarts=0.5", "--evaluation.times=0", "--budget.games=64"]


@pytest.fixture(scope="module")
def restarting(tmp_path_factory, tiny_toml, run_in):
    """A run of eight units, whose later ones restart half of their eight games."""
    folder = tmp_path_factory.mktemp("restarting")
    options = ["--checkpoints-kept=9", "--checkpoint-minutes=1e-9"]
    assert run_in(folder, tiny_toml, *RUN, *options) == 0
    return folder / "runs" / "tiny"


def _learned(run):
    """All rows that a run ever learned from."""
    return np.fromfile(run / "replay" / "000000.rows", SAMPLE)


def test_every_restarted_game_begins_in_an_earlier_game_and_can_be_replayed(restarting):
    config, rows = run_config(restarting), _learned(restarting)
    restarts = 0
    for number in range(64):
        game, unit = kept_game(restarting, number, config), number // 8
        first, *_, last = game.record.states()
        own = rows[rows["games"] == number]
        assert np.array_equal(first.board, own["inputs"][0, :14]) and first.ply == own["plies"][0]
        assert last.outcome.scores == game.scores and last.outcome.reason == game.reason
        seen = (rows["inputs"][:, :14] == first.board).all(axis=1) & (rows["plies"] == first.ply)
        before = rows["games"][seen & (rows["games"] < 8 * (unit - config.selfplay.lag + 1))]
        if unit >= config.selfplay.lag and number % 8 >= 4:
            restarts += 1
            assert len(before), "it began where an earlier game had been"
        elif first.ply == 0:
            assert np.array_equal(first.board, initial_board())
    assert restarts == 20
    starts = np.fromfile(restarting / "games" / "starts" / "000000.rows", "<i8,14i1,<i4")
    assert starts["f0"].tolist() == [8 * u + place for u in range(3, 8) for place in range(4, 8)]


@pytest.mark.parametrize("units", [2, 4, 7])
def test_a_run_resumed_with_restarts_in_flight_ends_like_one_that_ran_through(
    restarting, tmp_path, run_in, same_result, units
):
    run = tmp_path / "runs" / "tiny"
    shutil.copytree(restarting, run)
    for folder in (run / "checkpoints").iterdir():
        if read_state(folder)["units"] > units:
            shutil.rmtree(folder)
    assert run_in(tmp_path, "--resume", "tiny") == 0
    assert same_result(restarting, run)
    config = run_config(run)
    assert kept_game(run, 63, config) == kept_game(restarting, 63, config)


@pytest.mark.slow
def test_two_workers_restart_the_same_games(restarting, tiny_toml, tmp_path, run_in, same_result):
    assert run_in(tmp_path, tiny_toml, *RUN, "--workers=2") == 0
    assert same_result(restarting, tmp_path / "runs" / "tiny")


def test_games_of_a_run_from_before_there_were_restarts_are_found(finished):
    state = read_state(newest_checkpoint(finished))["games_kept"]
    assert state.pop("starts")["rows"] == 0
    store = GameStore(finished)
    store.look_at(state)
    config = run_config(finished)
    assert store.game(17, config) == kept_game(finished, 17, config)
    store.close()
