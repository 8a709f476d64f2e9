"""oware-compare: two tiny configurations from the command line to the verdict."""

import json
from contextlib import chdir

import numpy as np
import pytest

from agents.console import run_command
from train.compare import compare
from train.compare_report import Results, verdict
from train.config import Budget
from train.run import config_text

WORDS = (
    *("--minutes", "0.03", "--games", "4", "--simulations", "2", "--positions", "20"),
    *("--table", "4", "--ladder", "random", "--workers", "0"),
)


@pytest.fixture
def files(tmp_path, tiny, monkeypatch):
    # Games instead of minutes: a slow machine plays as many as a fast one.
    monkeypatch.setattr("train.arms.budget", lambda settings: Budget(games=16))
    for name, share in (("plain", 0.25), ("quiet", 0.0)):
        config = tiny({"name": name, "selfplay.noise": share})
        (tmp_path / f"{name}.toml").write_text(config_text(config))
    return "plain.toml", "quiet.toml"


@pytest.fixture
def run(tmp_path, capsys):
    """A function (*words) -> (exit code, output, errors) of the command run in tmp_path."""

    def run(*words):
        with chdir(tmp_path):
            code = run_command(compare, words)
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


def test_from_two_files_to_a_verdict_and_again_without_training(tmp_path, files, run):
    code, out, err = run(*files, "--seeds", "2", *WORDS)
    assert (code, err) == (0, "")
    trained = [line for line in out.splitlines() if line.startswith("training")]
    assert [line.split(",")[1].split()[1] + line[9] for line in trained] == ["0A", "0B", "1B", "1A"]
    assert "A = plain, B = quiet: 2 runs of 0.03 minutes each, 4 games a match" in out
    for name in ("score of B against A", "score against random", "result kept, uniform, policy"):
        assert name in out
    assert "These very runs: " in out
    folder = tmp_path / "runs" / "compare-plain-quiet"
    document = json.loads((folder / "results.json").read_text())
    assert len(document["score of B against A"]) == 2
    assert all(games >= 8 for games in document["figures"]["games"]["B"])
    assert (folder / "results.txt").read_text().strip() in out

    code, again, _ = run(*files, "--seeds", "2", *WORDS)
    assert code == 0 and "training" not in again
    assert again == out[out.index("\nA = plain") :]


def test_a_run_that_was_not_finished_is_trained_again(tmp_path, files, run):
    half_done = tmp_path / "runs" / "compare-plain-quiet" / "A-0"
    half_done.mkdir(parents=True)
    (half_done / "metrics.jsonl").write_text("half a li")
    code, out, _ = run(*files, "--seeds", "1", *WORDS)
    assert code == 0 and "with one seed: another may say something else" in out
    assert (half_done / "trained.json").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("plain.toml",), "give two configuration files to compare, not 1"),
        (("plain.toml", "plain.toml"), "plain.toml and plain.toml say the same"),
        (("plain.toml", "none.toml"), "none.toml cannot be read"),
        (("plain.toml", "quiet.toml", "--seeds", "0"), "seeds must be greater than or equal to 1"),
        (("plain.toml", "quiet.toml", "--ladder", "rando"), "unknown agent 'rando'"),
        (("plain.toml", "quiet.toml", "--sed", "1"), "unknown option --sed"),
    ],
)
def test_a_mistake_is_one_line_before_anything_is_trained(tmp_path, files, run, words, message):
    code, out, err = run(*words)
    assert (code, out) == (2, "")
    assert message in err and len(err.splitlines()) == 1
    assert not list((tmp_path / "runs").rglob("checkpoints"))


def test_another_comparison_in_the_folder_is_not_mixed_in(tmp_path, files, run, monkeypatch):
    assert run(*files, "--seeds", "1", *WORDS)[0] == 0
    (tmp_path / "quiet.toml").write_text((tmp_path / "quiet.toml").read_text() + "\n# a comment\n")
    assert run(*files, "--seeds", "1", *WORDS)[0] == 0, "the same settings in other words"
    monkeypatch.setattr("train.arms.budget", lambda settings: Budget(games=24))
    code, _, err = run(*files, "--seeds", "1", *WORDS)
    assert code == 2 and "holds another comparison, A.toml differs" in err


def test_a_missing_table_of_either_is_told_before_anything_is_trained(tmp_path, files, run):
    text = (tmp_path / "quiet.toml").read_text().replace('endgames = "none"', 'endgames = "both"')
    (tmp_path / "quiet.toml").write_text(text.replace("table = 10", "table = 24"))
    code, out, err = run(*files, "--seeds", "1", *WORDS)
    assert (code, out) == (2, "")
    assert "there is no table of 24 seeds" in err and len(err.splitlines()) == 1


def test_minutes_in_which_nothing_is_learned_are_pointed_out(tmp_path, files, run, monkeypatch):
    monkeypatch.setattr("train.arms.budget", lambda settings: Budget(minutes=1e-6))
    code, _, err = run(*files, "--seeds", "1", *WORDS)
    assert code == 2 and "nothing was learned in 1e-06 minutes: give more --minutes" in err


def _results(*scores):
    random = np.random.default_rng(0)
    return Results([np.clip(random.normal(s, 0.3, 100), 0, 1) for s in scores], {})


def test_the_verdict_says_what_the_seeds_say():
    assert verdict(_results(0.7, 0.68, 0.72)).startswith("\nB is stronger than A: B scores ")
    assert verdict(_results(0.3, 0.32, 0.28)).startswith("\nB is weaker than A: B scores ")
    unclear = verdict(_results(0.6, 0.45, 0.55))
    assert "3 seeds do not tell A and B apart" in unclear
    assert "A difference of this size takes about" in unclear
