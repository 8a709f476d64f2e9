"""Playout cap randomisation: which moves are searched in full, and what the others teach."""

import numpy as np
import pytest

from oware_env.positions import game_keys
from train.learner import Learner
from train.playout_cap import draw_full
from train.selfplay import SelfPlayUnit, play_unit


def test_full_searches_are_a_share_of_the_moves_drawn_by_game_and_ply():
    keys, plies = game_keys(np.uint64(3), np.arange(20_000)), np.arange(20_000, dtype=np.int32) % 7
    is_full = draw_full(keys, plies, 0.25)
    assert abs(is_full.sum() - 5_000) < 5 * 61  # deviations
    assert (draw_full(keys[5::3], plies[5::3], 0.25) == is_full[5::3]).all()
    later = draw_full(keys, plies + 1, 0.25)
    assert abs((later & is_full).sum() - 1_250) < 5 * 34, "independent of the ply before"
    assert draw_full(keys, plies, 0.5)[is_full].all()
    assert draw_full(keys, plies, 1.0).all()


def test_only_full_searches_teach_a_policy_and_quick_ones_still_a_value(tiny):
    settings = {"simulations": 12, "full_share": 0.3, "quick_simulations": 3, "games": 24}
    config = tiny({f"selfplay.{name}": value for name, value in settings.items()})
    played = play_unit(SelfPlayUnit(Learner(config).playing_weights(), config, 2))
    samples = played.samples
    searched = ~np.isnan(samples.values)
    keys = game_keys(np.uint64(config.seed), samples.games.astype(np.int64))
    is_full = draw_full(keys, samples.plies, 0.3) & searched
    assert (samples.policies.any(axis=1) == is_full).all()
    assert 0.2 < is_full.sum() / searched.sum() < 0.4
    visits = samples.policies[is_full] * 12
    assert (
        np.allclose(visits, visits.round(), atol=1e-5) and (visits.round().sum(axis=1) == 12).all()
    )
    expected = 12 * is_full.sum() + 3 * (searched & ~is_full).sum()
    assert played.figures["simulations"] == expected
    policies = samples.policies[is_full].astype(float)
    entropy = -(policies * np.log(np.maximum(policies, 1e-12))).sum(axis=1).mean()
    assert played.figures["policy_entropy"] == pytest.approx(entropy, rel=1e-4)


def test_a_move_that_the_table_knows_is_taught_though_its_search_was_quick(tiny):
    settings = {"simulations": 5, "full_share": 0.01, "endgames": "search", "table": 8}
    settings |= {"games": 48, "search_plies": 150}
    config = tiny(
        {f"selfplay.{name}": value for name, value in settings.items()} | {"max_plies": 150}
    )
    samples = play_unit(SelfPlayUnit(Learner(config).playing_weights(), config, 0)).samples
    on_board = samples.inputs[:, :12].sum(axis=1)
    few, many = samples.policies[on_board <= 8], samples.policies[on_board > 8]
    assert len(few) > 100 and few.any(axis=1).mean() > 0.5
    assert many.any(axis=1).mean() < 0.05
