"""Self-play units: pure functions whose samples are the plies of real games."""

import hashlib

import numpy as np
import pytest

from agents.neural.evaluator import NetworkEvaluator
from agents.search.mcts import Search
from agents.workers import open_executor
from oware_env.rules import MOVE_LIMIT, REASONS
from oware_env.state import State
from train.learner import Learner
from train.samples import DRAW, LOSS, WIN
from train.selfplay import SelfPlayUnit, play_unit, start_games

NUMBER = 3


@pytest.fixture(scope="module")
def config(tiny):
    differences = {"selfplay.games": 24, "max_plies": 60, "selfplay.search_plies": 50}
    return tiny(differences | {"selfplay.endgames": "none"})


@pytest.fixture(scope="module")
def unit(config):
    return SelfPlayUnit(Learner(config).playing_weights(), config, NUMBER)


@pytest.fixture(scope="module")
def played(unit):
    return play_unit(unit)


@pytest.fixture(scope="module")
def blocks(config, played):
    """The samples as they were made: a list of (games, rows) for every lock-step ply."""
    starts = start_games(config, NUMBER).positions().plies
    found, row = [], 0
    for turn in range(int((played.ends.plies - starts).max())):
        games = np.flatnonzero(starts + turn < played.ends.plies)
        found.append((games, np.arange(row, row + len(games))))
        row += len(games)
    assert row == len(played.samples)
    return found


def _bytes(played):
    return [array.tobytes() for array in (*played.samples, *played.ends)]


def test_the_same_unit_gives_the_same_bytes_here_and_in_a_worker(unit, played):
    units = [unit, unit._replace(number=NUMBER + 1), unit]
    with open_executor(1) as executor:
        first, other, again = executor.run_in_order(play_unit, units)
    here = _bytes(play_unit(unit))
    assert here == _bytes(played) == _bytes(first) == _bytes(again)
    assert _bytes(other) != here
    for mine, theirs in zip(here, _bytes(play_unit(units[1])), strict=True):
        assert len(mine) != len(theirs) or mine != theirs or len(set(mine)) == 1


def test_without_tables_a_unit_stays_what_it_is(unit, played):
    # Rounding differs between processors, but what the digest is taken of are counts
    # of seeds and of visits: they do not change with the last bits of the network's output.
    counts = (*played.samples[:4], *played.ends)
    digest = hashlib.sha256(b"".join(array.tobytes() for array in counts)).hexdigest()
    assert digest == "60495a66d394554b25569922e2c8b06c03be283a533e6420b0645ede89a068ba"


def test_other_weights_or_another_seed_give_other_games(tiny, config, unit, played):
    other_seed = config.model_copy(update={"seed": 1})
    other_weights = Learner(other_seed).playing_weights()
    assert _bytes(play_unit(unit._replace(config=other_seed))) != _bytes(played)
    assert _bytes(play_unit(unit._replace(weights=other_weights))) != _bytes(played)


def test_the_positions_of_each_game_follow_from_one_another_by_legal_moves(config, played, blocks):
    starts = start_games(config, NUMBER)
    states = {}
    for game in range(config.selfplay.games):
        states[game] = {starts.state(game)}
    for games, rows in blocks:
        for game, row in zip(games.tolist(), rows, strict=True):
            matching = {s for s in states[game] if s.board.tolist() == _board(played, row)}
            assert matching, f"game {game}: this position follows from no legal move"
            state = matching.pop()
            assert played.samples.inputs[row, 14] == min(64, config.max_plies - state.ply)
            states[game] = {state.play(move) for move in state.legal_moves}
    for game, last in states.items():
        ends = played.ends
        found = {(s.outcome.scores, s.outcome.reason, s.ply) for s in last if s.outcome is not None}
        scores = tuple(ends.scores[game].tolist())
        assert (scores, REASONS[ends.reasons[game]], int(ends.plies[game])) in found


def _board(played, row):
    return played.samples.inputs[row, :14].tolist()


def test_results_are_those_of_the_games_for_the_side_to_move(config, played, blocks):
    south_starts = start_games(config, NUMBER).south_to_move
    seen = set()
    for turn, (games, rows) in enumerate(blocks):
        for game, row in zip(games.tolist(), rows, strict=True):
            south, north = played.ends.scores[game].astype(int)
            mine = south - north if south_starts[game] == (turn % 2 == 0) else north - south
            result = played.samples.results[row]
            assert result == (WIN if mine > 0 else LOSS if mine < 0 else DRAW)
            seen.add(int(result))
    assert {WIN, LOSS} <= seen


def test_policies_are_shares_of_visits_over_legal_moves_or_nothing(config, played, blocks):
    starts = start_games(config, NUMBER).positions().plies
    simulations, kinds = config.selfplay.simulations, set()
    for turn, (games, rows) in enumerate(blocks):
        policies = played.samples.policies[rows]
        searched = (starts[games] + turn).min() < config.selfplay.search_plies
        kinds.add(bool(searched))
        if not searched:
            assert not policies.any()
            continue
        visits = policies * simulations
        assert np.allclose(visits, visits.round(), atol=1e-5)
        assert (visits.round().sum(axis=1) == simulations).all()
        assert not policies[played.samples.inputs[rows, :6] == 0].any()
        for policy, row in zip(policies, rows, strict=True):
            if not played.samples.inputs[row, 6:12].any():  # the duty to feed
                board = played.samples.inputs[row].astype(np.int8)[:14]
                legal = State.from_board(board, True).legal_moves
                assert set(np.flatnonzero(policy)) <= set(legal)
    assert kinds == {True, False}


def test_samples_say_where_they_stood_and_what_the_search_said(config, played, blocks):
    starts, samples = start_games(config, NUMBER).positions().plies, played.samples
    searched = samples.policies.any(axis=1)
    for turn, (games, rows) in enumerate(blocks):
        assert np.array_equal(samples.plies[rows], starts[games] + turn)
        assert np.array_equal(samples.games[rows], games + NUMBER * config.selfplay.games)
    assert np.array_equal(np.isfinite(samples.values), searched) and not searched.all()
    assert (np.abs(samples.values[searched]) <= 1).all()
    assert len(np.unique(samples.values[searched])) > 100
    network = Learner(config).network  # still equal to the average that played
    search = Search(
        NetworkEvaluator(network, config.rules),
        config.rules,
        simulations=config.selfplay.simulations,
        exploration=config.selfplay.exploration,
    )
    again = search.run(start_games(config, NUMBER).positions(), config.selfplay.noise)
    assert samples.values[blocks[0][1]] == pytest.approx(again.values, abs=1e-6)


def test_games_start_after_zero_to_the_configured_number_of_random_plies(tiny):
    config = tiny({"selfplay.games": 4_000, "selfplay.opening_plies": 4})
    games = start_games(config, 0)
    boards, plies, keys = games.positions()
    counts = np.bincount(plies, minlength=5)
    assert len(counts) == 5
    assert counts.min() > 650 and counts.max() < 950  # 800 each, within 6 deviations
    assert (games.south_to_move == (plies % 2 == 0)).all()
    assert len(np.unique(keys)) == 4_000
    assert len(np.unique(boards[plies == 2], axis=0)) > 20, "of 36"


def test_no_two_units_share_a_game(config):
    keys = [start_games(config, number).positions().keys for number in range(50)]
    assert len(np.unique(np.concatenate(keys))) == 50 * config.selfplay.games


def test_without_opening_plies_all_games_start_from_the_first_position(tiny):
    games = start_games(tiny({"selfplay.opening_plies": 0}), 5)
    boards, plies, _ = games.positions()
    assert (boards == State.initial().board).all() and not plies.any()


def test_the_figures_are_those_of_the_games(config, played):
    figures, ends = played.figures, played.ends
    margin = ends.scores[:, 0].astype(int) - ends.scores[:, 1]
    searched = played.samples.policies.any(axis=1)
    policies = played.samples.policies[searched].astype(float)
    entropy = -(policies * np.log(np.maximum(policies, 1e-12))).sum(axis=1).mean()
    assert figures["games"] == config.selfplay.games
    assert figures["positions"] == len(played.samples)
    assert figures["game_length"] == pytest.approx(ends.plies.mean())
    assert figures["limit_share"] == pytest.approx((ends.reasons == MOVE_LIMIT).mean())
    assert figures["draw_rate"] == pytest.approx((margin == 0).mean())
    wins, draws = (margin > 0).mean(), (margin == 0).mean()
    assert figures["first_player_score"] == pytest.approx(wins + draws / 2)
    assert figures["policy_entropy"] == pytest.approx(entropy, rel=1e-4)
    assert figures["search_surprise"] > 0.0
    assert figures["simulations"] == searched.sum() * config.selfplay.simulations
    assert 0 < figures["evaluations"] <= (config.selfplay.simulations + 1) * len(played.samples)
    assert 0.0 < figures["network_seconds"] < figures["seconds"]


def test_early_moves_are_drawn_by_visits_and_late_ones_prefer_the_most_visited(tiny, unit):
    shares = {}
    for name, exponent in (("early", 1.0), ("late", 8.0)):
        differences = {
            "selfplay.games": 64,
            "selfplay.simulations": 12,
            "selfplay.temperature_plies": 0,
            "selfplay.late_exponent": exponent,
            "selfplay.opening_plies": 0,
            "max_plies": 12,
        }
        games = play_unit(unit._replace(config=tiny(differences)))
        shares[name] = _share_of_best(games, 64)
    assert shares["late"] > shares["early"] + 0.2


def _share_of_best(played, games):
    """How often the move played was a most visited one; no game ends within the first plies."""
    hits = 0
    for turn in range(8):
        for game in range(games):
            row, following = turn * games + game, (turn + 1) * games + game
            state = State.from_board(played.samples.inputs[row].astype(np.int8)[:14], True)
            policy = played.samples.policies[row]
            best = [int(m) for m in np.flatnonzero(policy == policy.max())]
            nexts = [state.play(move).board.tolist() for move in best]
            hits += _board(played, following) in nexts
    return hits / (8 * games)
