"""Tables in self-play: what every mode does to games, targets, logs and checkpoints."""

import json

import numpy as np
import pytest

from agents.arena.oracle import uniform_positions
from agents.neural.checkpoint import read_state
from agents.tablebase import build
from agents.tablebase.files import table_path
from agents.tablebase.probe import Tablebase, open_table
from agents.workers import open_executor
from oware_env.errors import OwareError
from oware_env.positions import Positions, game_keys
from oware_env.rules import RUNNING
from train import selfplay
from train.alphazero import AlphaZero
from train.endgames import Endgames, draw_played_on, final_bounds, sure_scores
from train.learner import Learner
from train.samples import DRAW, UNKNOWN_MARGIN, Bounds, make_samples
from train.selfplay import SelfPlayUnit, play_unit, start_games

MODES = ("none", "adjudicate", "search", "both")
NUMBER, PLAYED_ON = 0, 0.25


def unit_of(tiny, mode, **differences):
    values = {"selfplay.games": 32, "selfplay.simulations": 6, "selfplay.temperature_plies": 30}
    values |= {"max_plies": 300, "selfplay.search_plies": 150, "selfplay.endgames": mode}
    if mode in ("adjudicate", "both"):
        values["selfplay.played_on"] = PLAYED_ON
        values["selfplay.lessons"] = 0  # test_lessons.py has those
    if mode != "none":
        values["selfplay.table"] = 8
    config = tiny(values | {f"selfplay.{name}": value for name, value in differences.items()})
    return SelfPlayUnit(Learner(config).playing_weights(), config, NUMBER)


class Unit:
    """A unit as played, with what was noted of every row, which tells whose turn it was."""

    def __init__(self, unit):
        noted = []

        def note(found, ends, first_game):
            noted.append(found)
            return make_samples(found, ends, first_game)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(selfplay, "make_samples", note)
            self.played = play_unit(unit)
        self.config, self.noted = unit.config, noted[0]
        self.games, self.south = self.noted.games, self.noted.south
        start = start_games(unit.config, unit.number)
        self.keys = start.positions().keys.copy()
        self.starts = start.positions().plies.copy()
        self.plies = np.empty(len(self.games), np.int32)
        for game, rows in enumerate(self.rows_of_games()):
            self.plies[rows] = self.starts[game] + np.arange(len(rows))
        boards = self.played.samples.inputs[:, :14].astype(np.int8)
        self.positions = Positions(boards, self.plies, self.keys[self.games])
        self.bounds = final_bounds(open_table(8), self.positions, unit.config.max_plies)

    def rows_of_games(self):
        return [np.flatnonzero(self.games == game) for game in range(32)]


@pytest.fixture(scope="module")
def units(tiny):
    return {mode: Unit(unit_of(tiny, mode)) for mode in MODES}


def bytes_of(played):
    return [array.tobytes() for array in (*played.samples, *played.ends)]


def test_the_same_unit_gives_the_same_bytes_in_every_mode_here_and_in_a_worker(tiny, units):
    asked = [unit_of(tiny, mode) for mode in MODES]
    with open_executor(1) as executor:
        there = [bytes_of(played) for played in executor.run_in_order(play_unit, asked)]
    here = [bytes_of(units[mode].played) for mode in MODES]
    assert here == there == [bytes_of(play_unit(unit)) for unit in asked]
    assert len({digest[0] for digest in here}) == len(MODES)


@pytest.mark.parametrize("mode", ["adjudicate", "both"])
def test_a_game_is_ended_at_its_first_decided_position_with_what_is_proved(units, mode):
    unit, ended = units[mode], 0
    ends, samples = unit.played.ends, unit.played.samples
    played_on = draw_played_on(unit.keys, PLAYED_ON)
    for game, rows in enumerate(unit.rows_of_games()):
        decided = unit.bounds.decided[rows]
        plies, last = unit.starts[game] + len(rows), rows[-1]
        if played_on[game] or not decided.any():
            assert ends.reasons[game] != RUNNING and ends.plies[game] == plies
            continue
        ended += 1
        assert ends.reasons[game] == RUNNING and ends.plies[game] == plies - 1
        assert np.flatnonzero(decided).tolist() == [len(rows) - 1]
        assert not samples.policies[last].any()
        lead = int(unit.bounds.least[last])
        assert lead == unit.bounds.greatest[last], "up to ten seeds all is exact"
        south, north = ends.scores[game].astype(int)
        assert (south - north, south + north) == (lead if unit.south[last] else -lead, 48)
        assert samples.results[last] == DRAW - np.sign(lead)
        assert (samples.margins[rows] != UNKNOWN_MARGIN).all()
    assert ended > 8 and played_on.any()
    assert unit.played.figures["adjudicated"] == ended / 32
    went_on = played_on[unit.games] & unit.bounds.decided
    assert went_on.any(), "a game that is played on goes through decided positions"


@pytest.mark.parametrize("mode", ["none", "search"])
def test_without_adjudication_every_game_ends_by_the_rules(units, mode):
    unit = units[mode]
    assert (unit.played.ends.reasons != RUNNING).all()
    assert unit.played.figures["adjudicated"] == 0.0
    assert unit.bounds.decided.any()


def test_games_that_are_not_adjudicated_are_longer(units):
    lengths = {mode: units[mode].played.figures["game_length"] for mode in MODES}
    assert lengths["adjudicate"] < lengths["none"] and lengths["both"] < lengths["search"]


@pytest.mark.parametrize("mode", MODES)
def test_decided_positions_have_the_proved_targets_but_in_mode_none(units, mode):
    unit = units[mode]
    decided, samples = unit.bounds.decided, unit.played.samples
    proved = DRAW - np.sign(unit.bounds.least.astype(int))
    is_right = samples.results[decided] == proved[decided]
    ahead = unit.positions.boards[:, 12] - unit.positions.boards[:, 13]
    is_exact = samples.margins[decided] == (unit.bounds.least - ahead)[decided]
    assert is_right.all() == is_exact.all() == (mode != "none")


@pytest.mark.parametrize("mode", MODES)
def test_values_are_proved_where_the_table_decides_and_else_the_search_s(units, mode):
    unit = units[mode]
    samples, decided = unit.played.samples, unit.bounds.decided & (mode != "none")
    assert np.array_equal(samples.plies, unit.plies)
    assert (samples.values[decided] == np.sign(unit.bounds.least[decided])).all()
    searched = samples.policies.any(axis=1)
    assert np.array_equal(np.isfinite(samples.values), searched | decided)
    assert decided.any() == (mode != "none")


def test_without_rescoring_a_game_that_is_played_on_keeps_its_own_result(tiny):
    unit = Unit(unit_of(tiny, "adjudicate", rescore=False))
    played = unit.played
    assert played.figures["rescored"] == 0.0
    plain = make_samples(unit.noted, played.ends)
    assert np.array_equal(plain.results, played.samples.results)
    assert np.array_equal(plain.margins, played.samples.margins)


def test_a_search_with_the_table_never_gives_a_proved_result_away(tiny):
    unit = Unit(unit_of(tiny, "search", search_plies=300))
    assert unit.bounds.decided.sum() > 300
    assert unit.played.figures["rescored"] == 0.0


@pytest.mark.parametrize("mode", ["search", "both"])
def test_policy_targets_of_decided_positions_are_over_the_moves_that_keep_most_seeds(units, mode):
    unit = units[mode]
    policies = unit.played.samples.policies
    rows = np.flatnonzero(unit.bounds.decided & policies.any(axis=1))
    faced = Positions(*(array[rows] for array in unit.positions))
    lows, highs = open_table(8).move_bounds(faced, unit.config.max_plies)
    assert np.array_equal(lows, highs)
    best = lows == lows.max(axis=1, keepdims=True)
    assert np.array_equal(policies[rows] > 0, best)
    assert (best.sum(axis=1) > 1).any() and (best.sum(axis=1) == 1).any()


@pytest.mark.parametrize("mode", MODES)
def test_policy_targets_sum_to_one_or_nothing(units, mode):
    sums = units[mode].played.samples.policies.sum(axis=1)
    assert (np.isclose(sums, 1.0, atol=1e-5) | (sums == 0.0)).all()


def test_simulations_are_counted_where_the_search_needs_some(units):
    unit = units["search"]
    policies = unit.played.samples.policies
    searched = policies.any(axis=1) & ~unit.bounds.decided
    assert unit.played.figures["simulations"] == 6 * searched.sum()


def test_the_share_of_games_played_on_is_drawn_from_their_keys():
    keys = game_keys(np.uint64(5), np.arange(20_000))
    assert not draw_played_on(keys, 0.0).any() and draw_played_on(keys, 1.0).all()
    few, more = draw_played_on(keys, 0.1), draw_played_on(keys, 0.3)
    assert few.mean() == pytest.approx(0.1, abs=0.01)
    assert more.mean() == pytest.approx(0.3, abs=0.015)
    assert more[few].all()
    assert np.array_equal(draw_played_on(keys[7_000:7_100], 0.1), few[7_000:7_100])


def test_an_inexact_proof_gives_each_side_what_it_is_sure_of():
    least, greatest = [2, -6, 0, 4], [6, -2, 0, 4]  # final leads of the mover
    bounds = Bounds(np.array(least, np.int8), np.array(greatest, np.int8))
    south = np.array([True, True, True, False])
    assert bounds.decided.all()
    assert sure_scores(bounds, south).tolist() == [[25, 21], [21, 25], [24, 24], [22, 26]]


def test_best_moves_keep_the_result_also_where_bounds_are_wide(tiny, tmp_path):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(build, "EXACT_SEEDS", 3)
        rough = Tablebase(build.build_table(7, folder=tmp_path))
    endgames = Endgames(unit_of(tiny, "search").config, np.zeros(1, np.uint64))
    exact, endgames.table = endgames.table, rough
    positions = uniform_positions(seeds=7, count=4_000)
    decided = final_bounds(rough, positions, 300).decided
    rows, best = endgames.best_moves(positions)
    assert 1_000 < len(rows) <= decided.sum() < 4_000 and decided[rows].all()
    faced = Positions(*(array[rows] for array in positions))
    ahead = (faced.boards[:, 12] - faced.boards[:, 13]).astype(int)
    truth = np.sign(ahead + exact.bounds(faced, 300)[0])
    kept = np.sign(ahead[:, None] + exact.move_bounds(faced, 300)[0])
    assert best.any(axis=1).all()
    assert (kept == truth[:, None])[best].all()


def test_mode_none_opens_no_table(tiny, monkeypatch):
    monkeypatch.setattr("train.endgames.open_table", lambda seeds: pytest.fail("opened"))
    config = tiny({"selfplay.endgames": "none"})
    assert Endgames(config, np.zeros(3, np.uint64)).search_table is None
    AlphaZero(config)


def test_a_small_table_is_built_before_training_begins(tiny, tmp_path, monkeypatch):
    monkeypatch.setenv("OWARE_TABLES", str(tmp_path))
    open_table.cache_clear()
    AlphaZero(tiny({"selfplay.endgames": "search", "selfplay.table": 4}))
    assert table_path(4).is_file() and table_path(4).parent == tmp_path
    open_table.cache_clear()


def test_a_table_that_is_not_there_is_told_before_there_is_a_run(
    tiny, tiny_toml, run_in, tmp_path, capsys
):
    with pytest.raises(OwareError, match="build it with oware-tablebase build --seeds 24"):
        AlphaZero(tiny({"selfplay.endgames": "both", "selfplay.table": 24}))
    words = "--selfplay.endgames", "both", "--selfplay.table", "24"
    assert run_in(tmp_path, tiny_toml, *words) == 2
    message = capsys.readouterr().err.strip()
    assert "oware-tablebase build --seeds 24" in message and "\n" not in message
    assert not (tmp_path / "runs").exists()


def test_the_mode_is_in_every_checkpoint_and_its_figures_in_the_log(
    tiny_toml, run_in, newest, tmp_path
):
    words = "--selfplay.endgames", "both", "--max-plies", "200", "--selfplay.search-plies", "100"
    assert run_in(tmp_path, tiny_toml, *words) == 0
    run = tmp_path / "runs" / "tiny"
    for folder in (run / "checkpoints").glob("step-*"):
        settings = read_state(folder)["config"]["selfplay"]
        assert settings["endgames"] == "both"
        assert (settings["table"], settings["played_on"], settings["rescore"]) == (10, 0.1, True)
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    units = [line for line in lines if "unit" in line]
    assert len(units) == 6 and newest(run).is_dir()
    assert sum(line["selfplay/adjudicated"] for line in units) > 1.0
    assert all(0.0 <= line["selfplay/rescored"] <= 1.0 for line in units)
    assert all(0.0 < line["selfplay/evaluations_per_position"] < 5.0 for line in units)
