"""A run folder with something missing: what needs it says so in one line, the rest works."""

import shutil

import pytest

from agents.console import run_command
from train.command import train

WORDS = {
    "report": ("report", "tiny"),
    "replay": ("replay", "tiny", "3"),
    "export": ("export", "tiny"),
    "release": ("release", "tiny", "shared"),
}


def without(*names):
    """A change of a run folder: these are gone."""

    def change(run):
        for name in names:
            shutil.rmtree(run / name) if (run / name).is_dir() else (run / name).unlink()

    return change


def emptied(name):
    """A change: the folder is there, and nothing in it."""

    def change(run):
        shutil.rmtree(run / name)
        (run / name).mkdir()

    return change


def holding(name, content):
    """A change: the file says something else."""
    return lambda run: (run / name).write_bytes(content)


def all_gone(run):
    """A change: an empty folder."""
    shutil.rmtree(run)
    run.mkdir()


def a_file(run):
    """A change: no folder at all."""
    shutil.rmtree(run)
    run.write_text("run")


NO_CHECKPOINT = "runs/tiny holds no checkpoint: the run was stopped before its first one"
NO_RUN = "runs/tiny holds no checkpoint: it is not the folder of a run"
NO_CONFIG = "runs/tiny is not the folder of a run: it holds no config.toml"
NO_GAMES = "runs/tiny/games/results/000000.rows was cut off: it holds 0 of 48 rows"
NO_ORIGIN = "runs/tiny/run.json cannot be read: it says how the run began"
# (what, change, {action: its one line}); every other action does its work.
BROKEN = [
    ("events gone", without("events"), {}),
    ("nothing logged", without("metrics.jsonl", "events"), {"report": "holds no metrics.jsonl"}),
    ("an empty log", holding("metrics.jsonl", b""), {"report": "tells of no games"}),
    ("a log that is none", holding("metrics.jsonl", b"5\n"), {"report": "line 1: not what a run"}),
    ("a log that is no text", holding("metrics.jsonl", b"\xff\n"), {"report": "it is no text"}),
    (
        "a unit without figures",
        holding("metrics.jsonl", b'{"unit": 0}\n'),
        {"report": "metrics.jsonl: its last unit lacks 'total/games'"},
    ),
    ("checkpoints gone", without("checkpoints"), dict.fromkeys(WORDS, NO_CHECKPOINT)),
    ("no checkpoint", emptied("checkpoints"), dict.fromkeys(WORDS, NO_CHECKPOINT)),
    ("games gone", without("games"), {"report": NO_GAMES, "replay": NO_GAMES}),
    ("no games", emptied("games"), {"report": NO_GAMES, "replay": NO_GAMES}),
    (
        "positions gone",
        without("replay"),
        {"export": "runs/tiny/replay/000000.rows was cut off: it holds 0 of "},
    ),
    ("no final tournament", without("results"), {}),
    ("no origin", without("run.json"), {"report": NO_ORIGIN, "release": NO_ORIGIN}),
    ("another origin", holding("run.json", b"[]"), {"report": NO_ORIGIN, "release": NO_ORIGIN}),
    (
        "no configuration",
        without("config.toml"),
        dict.fromkeys(("report", "replay", "export"), NO_CONFIG),
    ),
    (
        "all gone",
        all_gone,
        {"report": NO_CONFIG, "replay": NO_CONFIG, "export": NO_RUN, "release": NO_RUN},
    ),
    (
        "a file",
        a_file,
        {"report": NO_CONFIG, "replay": NO_CONFIG}
        | dict.fromkeys(("export", "release"), "there is no run or checkpoint folder runs/tiny"),
    ),
]


@pytest.mark.parametrize(("what", "change", "refused"), BROKEN, ids=[row[0] for row in BROKEN])
def test_what_is_missing_is_one_line_where_it_is_needed(
    what, change, refused, finished, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    shutil.copytree(finished, "runs/tiny")
    change(tmp_path / "runs" / "tiny")
    for action, words in WORDS.items():
        capsys.readouterr()
        code = run_command(train, words)
        said = capsys.readouterr()
        if action in refused:
            assert (code, said.out) == (2, ""), action
            assert said.err.startswith("error: ") and said.err.count("\n") == 1
            assert refused[action] in said.err
        else:
            assert (code, said.err) == (0, ""), action
            assert said.out.strip()
