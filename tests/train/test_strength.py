"""Two minutes of training are worth something: measured in games, not in losses."""

import csv
from pathlib import Path

import pytest

from agents.settings import read_settings
from train.config import Config

CONFIGS = Path(__file__).parents[2] / "configs"


@pytest.fixture
def scores(tmp_path, run_in):
    """A function (preset, *options) -> scores of 200 games against random and against greedy."""

    def train(preset, *options):
        words = [str(CONFIGS / preset), "--name", "two", *options]
        words += ["--evaluation.at-end", "random", "greedy", "--evaluation.games-at-end", "200"]
        assert run_in(tmp_path, *words) == 0
        run = tmp_path / "runs" / "two"
        assert read_settings(Config, run / "config.toml").evaluation.games_at_end == 200
        (table,) = run.glob("results/*/pairings.csv")
        with table.open() as file:
            rows = [row for row in csv.DictReader(file) if "two" in row["a"]]
        assert all(int(row["games"]) == 200 for row in rows)
        return {row["b"]: float(row["score"]) for row in rows}

    return train


@pytest.mark.slow
def test_two_minutes_of_alphazero_beat_random_and_greedy(scores):
    found = scores("alphazero-quick.toml", "--budget.minutes", "2")
    assert found["random"] >= 0.95, found
    assert found["greedy"] >= 0.80, found


@pytest.mark.slow
def test_two_minutes_of_ppo_beat_random_and_greedy_without_search(scores):
    found = scores("ppo-quick.toml", "--budget.games", "20000")
    assert found["random"] >= 0.90, found
    assert found["greedy"] >= 0.70, found
