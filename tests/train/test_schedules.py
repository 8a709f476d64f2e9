"""What changes over a run: decided when a unit is asked for, whoever plays it."""

import os
import signal

import numpy as np
import pytest

from agents.neural.checkpoint import read_state
from train.alphazero import AlphaZero
from train.config import SelfPlay
from train.learner import Learner
from train.schedules import simulations_at
from train.selfplay import SelfPlayUnit, play_unit

RISING = {"selfplay.simulations": 12, "selfplay.first_simulations": 2}


def test_simulations_stay_as_they_are_without_a_first_number():
    assert {simulations_at(SelfPlay(simulations=9), share / 7) for share in range(9)} == {9}


def test_simulations_rise_by_equal_factors_from_the_first_number_to_the_last():
    settings = SelfPlay(simulations=64, first_simulations=4)
    assert [simulations_at(settings, share / 4) for share in range(5)] == [4, 8, 16, 32, 64]
    assert simulations_at(settings, 0.1) == round(4 * 16**0.1) == 5
    assert simulations_at(settings, 1.2) == 64, "minutes may have passed meanwhile"
    constant = SelfPlay(simulations=6, first_simulations=6)
    assert simulations_at(constant, 0.0) == simulations_at(constant, 0.7) == 6


@pytest.mark.parametrize(("progress", "simulations"), [(0.0, 2), (0.5, 5), (1.0, 12)])
def test_a_unit_is_searched_as_hard_as_its_progress_says(tiny, progress, simulations):
    config = tiny(RISING | {"selfplay.games": 4, "max_plies": 20})
    unit = SelfPlayUnit(Learner(config).playing_weights(), config, 0, progress)
    played = play_unit(unit)
    visits = played.samples.policies * simulations
    assert np.allclose(visits, visits.round(), atol=1e-5)
    assert (visits.round().sum(axis=1) == simulations).all()
    assert played.figures["simulations"] == simulations * len(played.samples)


def test_rising_simulations_are_those_of_the_moment_a_unit_was_asked_for(
    tiny, tiny_toml, tmp_path, run_in, monkeypatch, newest, same_result
):
    words = [f"--{key.replace('_', '-')}={value}" for key, value in RISING.items()]
    given = []

    def play(unit):
        given.append(unit)
        if [before.number for before in given] == [0, 1, 2, 3]:
            os.kill(os.getpid(), signal.SIGINT)
        return play_unit(unit)

    assert run_in(tmp_path, tiny_toml, *words, "--name=through", "--workers=2") == 0
    monkeypatch.setattr(AlphaZero, "play", staticmethod(play))
    assert run_in(tmp_path, tiny_toml, *words) == 130
    run = tmp_path / "runs" / "tiny"
    assert read_state(newest(run))["asked_at"] == {"3": 1 / 6, "4": 2 / 6, "5": 3 / 6}
    assert run_in(tmp_path, "--resume", "runs/tiny") == 0
    assert same_result(tmp_path / "runs" / "through", run)
    # Three units are in flight, so a unit is asked for when that three before is learned from.
    progress = {unit.number: unit.progress for unit in given}
    assert [progress[number] for number in range(6)] == [0.0, 0.0, 0.0, 1 / 6, 2 / 6, 3 / 6]
