"""Runs of PPO: the same weights whoever plays and wherever it stops, and what they leave behind."""

import csv
import json
import os
import signal

import pytest

from agents.neural.checkpoint import read_state, read_tensors
from oware_env.errors import OwareError
from train.alphazero import run_training as train_alphazero
from train.ppo import PPO, learn_unit, play_unit, run_training


@pytest.fixture(scope="module")
def finished_ppo(tmp_path_factory, ppo_toml, run_in):
    """The folder of the tiny PPO run with a final table. Not to be changed."""
    folder = tmp_path_factory.mktemp("finished-ppo")
    assert run_in(folder, ppo_toml, "--evaluation.at-end", "random") == 0
    return folder / "runs" / "tiny"


def test_any_number_of_workers_learns_the_same_weights(
    finished_ppo, ppo_toml, tmp_path, run_in, same_result
):
    for workers in ("1", "2"):
        assert run_in(tmp_path, ppo_toml, "--workers", workers, "--name", workers) == 0
        assert same_result(finished_ppo, tmp_path / "runs" / workers)


def test_another_seed_learns_other_weights(finished_ppo, ppo_toml, tmp_path, run_in, same_result):
    assert run_in(tmp_path, ppo_toml, "--seed", "1") == 0
    assert not same_result(finished_ppo, tmp_path / "runs" / "tiny")


@pytest.mark.parametrize("number", [1, 4])
@pytest.mark.parametrize("budget", ["--budget.games=48", "--budget.steps=36"])
def test_a_run_stopped_and_resumed_ends_like_one_that_ran_through(
    ppo_toml, tmp_path, run_in, monkeypatch, same_result, newest, number, budget
):
    assert run_in(tmp_path, ppo_toml, budget, "--name", "through") == 0

    def play(unit):
        if unit.number == number:
            os.kill(os.getpid(), signal.SIGINT)
        return play_unit(unit)

    with monkeypatch.context() as patches:
        patches.setattr(PPO, "play", staticmethod(play))
        assert run_in(tmp_path, ppo_toml, budget) == 130
    through, resumed = (tmp_path / "runs" / name for name in ("through", "tiny"))
    assert read_state(newest(resumed))["units"] == number
    assert run_in(tmp_path, "--resume", "runs/tiny") == 0
    assert same_result(through, resumed)
    if "steps" in budget:
        assert read_state(newest(resumed))["steps"] == 36


def test_a_crash_loses_only_what_came_after_the_last_checkpoint(
    finished_ppo, ppo_toml, tmp_path, run_in, monkeypatch, same_result, newest
):
    calls = []

    def crash(*arguments):
        calls.append(1)
        if len(calls) == 4:
            raise MemoryError("out of memory")
        return learn_unit(*arguments)

    with monkeypatch.context() as patches:
        patches.setattr("train.ppo.learn_unit", crash)
        assert run_in(tmp_path, ppo_toml, "--checkpoint-minutes", "1e-9") == 2
    run = tmp_path / "runs" / "tiny"
    assert read_state(newest(run))["units"] == 3
    assert run_in(tmp_path, "--resume", "runs/tiny") == 0
    assert same_result(finished_ppo, run)


def test_the_checkpoint_holds_the_pool_and_what_the_units_in_flight_are_played_with(
    finished_ppo, newest
):
    state = read_state(newest(finished_ppo))
    assert state["pool_spacing"] == 4 and state["units"] == 6
    pool = read_tensors(newest(finished_ppo), "pool")
    assert {name.partition(".")[0] for name in pool} == {"0", "4"}
    assert list(read_tensors(newest(finished_ppo), "in_flight")) == ["6"]


def test_what_is_logged_is_there_for_every_unit(finished_ppo):
    lines = [json.loads(x) for x in (finished_ppo / "metrics.jsonl").read_text().splitlines()]
    units = [line for line in lines if "unit" in line]
    assert [line["unit"] for line in units] == list(range(6))
    for line in units:
        assert {
            "loss/policy",
            "loss/result",
            "loss/margin",
            "policy/entropy",
            "policy/kl",
            "policy/clip_share",
            "policy/epochs",
            "selfplay/explained_variance",
            "selfplay/pool_score",
            "selfplay/game_length",
            "selfplay/limit_share",
            "selfplay/draw_rate",
            "selfplay/first_player_score",
            "speed/games_per_second",
            "speed/decisions_per_second",
            "speed/network_share",
            "time/learner",
            "total/positions",
        } <= line.keys()
    assert any("evaluation/random" in line for line in lines)


def test_the_final_table_is_played_without_search(finished_ppo, newest):
    with (finished_ppo / "results" / newest(finished_ppo).name / "pairings.csv").open() as file:
        (row,) = csv.DictReader(file)
    assert (row["a"], row["b"], row["games"]) == ("runs/tiny", "random", "4")


def test_a_configuration_of_the_other_algorithm_is_refused(tiny, tiny_ppo, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(OwareError, match=r"'alphazero': train with train\.alphazero\.run_training"):
        run_training(tiny())
    with pytest.raises(OwareError, match=r"'ppo': train with train\.ppo\.run_training"):
        train_alphazero(tiny_ppo())
    assert not list(tmp_path.iterdir())
