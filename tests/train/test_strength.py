"""Two minutes of training are worth something: measured in games, not in losses."""

import csv
from pathlib import Path

import pytest

from agents.settings import read_settings
from train.config import Config

ROOT = Path(__file__).parents[2]
QUICK = ROOT / "configs" / "alphazero-quick.toml"


@pytest.mark.slow
def test_two_minutes_of_training_beat_random_and_greedy(tmp_path, run_in):
    base = [str(QUICK)] if QUICK.exists() else []
    words = ["--budget.minutes", "2", "--name", "two", "--evaluation.at-end", "random", "greedy"]
    assert run_in(tmp_path, *base, *words, "--evaluation.games-at-end", "200") == 0
    run = tmp_path / "runs" / "two"
    config = read_settings(Config, run / "config.toml")
    assert (config.budget.minutes, config.evaluation.games_at_end) == (2.0, 200)
    (table,) = run.glob("results/*/pairings.csv")
    with table.open() as file:
        rows = [row for row in csv.DictReader(file) if "two" in row["a"]]
    assert all(int(row["games"]) == 200 for row in rows)
    scores = {row["b"]: float(row["score"]) for row in rows}
    assert scores["random"] >= 0.95, scores
    assert scores["greedy"] >= 0.80, scores
