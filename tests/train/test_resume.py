"""A run that goes on: from which checkpoint, in which folder, by whom, and with torn files."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
import zlib
from contextlib import chdir
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load

from agents.neural.checkpoint import STATE, read_state, write_checkpoint
from oware_env.files import DIGEST, Lock
from train.games import GAME

ROOT = Path(__file__).parents[2]
ROWS = ("games/results/000000.rows", "games/moves/000000.rows", "replay/000000.rows")
PAST = {"files", DIGEST}


@pytest.fixture
def run(finished, tmp_path):
    """A copy of the finished run, as runs/tiny of a folder of its own."""
    return shutil.copytree(finished, tmp_path / "runs" / "tiny")


def _start(folder, line):
    """A command of bash in a folder; "$0" -m train.command is oware-train."""
    return subprocess.Popen(
        ["bash", "-c", line, sys.executable],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_of_two_trainers_in_one_folder_the_second_is_told_of_the_first(
    run, tmp_path, run_in, finished, capsys, same_result
):
    before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
    with Lock(run, "run"):
        assert run_in(tmp_path, "--resume", "runs/tiny", "--budget.games", "96") == 2
        line = f"another process ({os.getpid()}) is writing the run runs/tiny: wait for it"
        assert line in capsys.readouterr().err
        for words in (["replay", "tiny", "3"], ["report", "tiny"], ["export", "tiny"]):
            assert run_in(tmp_path, *words) == 0, "readers are not locked out"
    changed = {path for path in before if path.read_bytes() != before[path]}
    assert {path.name for path in changed} <= {".lock", "report.html"}
    assert same_result(finished, run)


def test_a_killed_trainer_leaves_no_lock_behind(run, tmp_path, run_in):
    code = (
        "import os, signal; from pathlib import Path; from oware_env.files import Lock;"
        "lock = Lock(Path('runs/tiny'), 'run'); os.kill(os.getpid(), signal.SIGKILL)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)}
    )
    assert done.returncode == -signal.SIGKILL
    assert run_in(tmp_path, "--resume", "runs/tiny") == 0


@pytest.mark.parametrize("name", ROWS)
def test_readers_take_what_the_checkpoint_tells_of_and_no_torn_tail(run, tmp_path, run_in, name):
    with (run / name).open("ab") as file:
        file.write(b"\1\2\3\4\5")  # what a power cut leaves
    content = (run / name).read_bytes()
    for words in (["replay", "tiny", "47"], ["report", "tiny"], ["export", "tiny"]):
        assert run_in(tmp_path, *words) == 0
    assert (run / name).read_bytes() == content, "readers change nothing"
    assert run_in(tmp_path, "--resume", "runs/tiny", "--budget.games", "56") == 0


def test_foreign_files_beside_the_rows_are_left_alone(run, tmp_path, run_in):
    foreign = [run / "replay" / name for name in ("abc.rows", "0.rows", "０００００1.rows", "note")]
    for path in foreign:
        path.write_text("mine")
    assert run_in(tmp_path, "--resume", "runs/tiny", "--budget.games", "56") == 0
    assert run_in(tmp_path, "export", "tiny") == 0
    assert all(path.read_text() == "mine" for path in foreign)


@pytest.mark.parametrize("spelling", ["{run}", "tiny", "./runs/../runs/tiny", "moved"])
def test_a_run_is_the_same_however_its_folder_is_spelled(run, tmp_path, run_in, capsys, spelling):
    if spelling == "moved":
        run = run.rename(tmp_path / "moved")
    words = ["--resume", spelling.format(run=run)]
    if spelling == "moved":
        words = ["--resume", str(run)]
    options = ["--evaluation.at-end", "random", "greedy"]
    before = (run / "results").rglob("games.jsonl")
    games = {path: path.read_bytes() for path in before}
    capsys.readouterr()
    assert run_in(tmp_path, *words, *options) == 0
    said = capsys.readouterr()
    assert "against greedy" in said.out and said.err == ""
    assert {path: path.read_bytes() for path in (run / "results").rglob("games.jsonl")} == games
    assert run_in(tmp_path, "report", str(run)) == 0


def test_other_settings_of_the_final_table_get_a_table_of_their_own(run, tmp_path, run_in, capsys):
    for games in ("8", "4", "8"):
        options = ["--evaluation.at-end", "random", "--evaluation.games-at-end", games]
        assert run_in(tmp_path, "--resume", "runs/tiny", *options) == 0
        assert f"in {games} paired games" in capsys.readouterr().out
    names = sorted(path.name for path in (run / "results").iterdir())
    assert [name.partition("-")[2][8:] for name in names] == ["", "-2", "-3"]


def _damage(checkpoint, name):
    path = checkpoint / name
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(bytes(content))


@pytest.mark.parametrize("name", ["ema.safetensors", STATE])
def test_a_damaged_checkpoint_names_the_whole_one_and_the_run_goes_on_from_there(
    tiny_toml, tmp_path, run_in, capsys, same_result, name
):
    options = ("--checkpoint-minutes", "1e-9", "--evaluation.times", "0")
    assert run_in(tmp_path, tiny_toml, *options) == 0
    run = tmp_path / "runs" / "tiny"
    whole = shutil.copytree(run, tmp_path / "whole")
    older, damaged = sorted((run / "checkpoints").iterdir())
    _damage(damaged, name)
    capsys.readouterr()
    for words in (["--resume", "tiny", "--budget.games", "64"], ["release", "tiny", "out"]):
        assert run_in(tmp_path, *words) == 2
        said = capsys.readouterr().err
        assert said.count("\n") == 1 and damaged.name in said
        assert f"{older.name} is whole: name it instead" in said
    back = ["--resume", "tiny", "--checkpoint"]
    assert run_in(tmp_path, *back, damaged.name) == 2
    assert run_in(tmp_path, *back, "step-1") == 2
    assert "has no checkpoint 'step-1'; the nearest is 'step-000000" in capsys.readouterr().err
    assert sorted((run / "checkpoints").iterdir()) == [older, damaged], "nothing is set aside yet"
    assert run_in(tmp_path, *back, older.name) == 0
    assert f"is set aside as aside-{damaged.name}" in capsys.readouterr().out
    assert (run / "checkpoints" / f"aside-{damaged.name}").is_dir()
    assert same_result(whole, run)


def test_a_checkpoint_is_chosen_for_a_run_that_goes_on_only(tiny_toml, tmp_path, run_in, capsys):
    assert run_in(tmp_path, tiny_toml, "--checkpoint", "step-00000001") == 2
    assert "--checkpoint says where --resume goes on" in capsys.readouterr().err
    assert not (tmp_path / "runs").exists()


def _told(checkpoint, change):
    """Change what a checkpoint says, with the digest that belongs to it."""
    state = {name: value for name, value in read_state(checkpoint).items() if name not in PAST}
    tensors = {p.stem: load(p.read_bytes()) for p in checkpoint.glob("*.safetensors")}
    change(state, tensors)
    write_checkpoint(checkpoint, tensors, state)


def _state(**values):
    return lambda state, tensors: state.update(values)


def _without(name):
    return lambda state, tensors: state.pop(name)


def _tensor(stem, change):
    return lambda state, tensors: tensors[stem].update(change(tensors[stem]))


def _first(change):
    return lambda named: {min(named): change(named[min(named)])}


HOSTILE = {
    "units of text": _state(units="6"),
    "units below one": _state(units=0),
    "no games": _without("games"),
    "games as a truth": _state(games=True),
    "endless minutes": _state(minutes=float("inf")),
    "no steps": _without("steps"),
    "no network": _without("network"),
    "no rules": _without("rules"),
    "rules that cannot be": _state(rules={"max_plies": -5}),
    "no configuration": _without("config"),
    "a configuration of another kind": _state(config=[1]),
    "an unknown setting": _state(config={"sed": 1}),
    "a log of text": _state(log="all"),
    "a log before its begin": _state(log={"bytes": -1, "crc32": 0}),
    "pending that is no list": _state(pending=5),
    "pending without weights": _state(pending=[["random"]]),
    "games of no files": _state(games_kept={}),
    "rows of no files": _state(replay={"rows": 9, "first": 0, "checksums": {}}),
    "rows of text": _state(replay={"rows": "9", "first": 0, "checksums": {"0": 1}}),
    "files out of place": _state(replay={"rows": 9, "first": 0, "checksums": {"7": 1}}),
    "no files of positions": _without("replay"),
    "weights of whole numbers": _tensor("model", _first(lambda t: t.to(torch.int8))),
    "weights in double": _tensor("ema", _first(lambda t: t.double())),
    "complex weights": _tensor("ema", _first(lambda t: t.to(torch.complex64))),
    "weights that are no number": _tensor("ema", _first(lambda t: t * float("nan"))),
    "endless weights": _tensor("model", _first(lambda t: t + float("inf"))),
    "a weight too many": _tensor("model", lambda named: {"more": torch.zeros(1)}),
    "an optimiser of another shape": _tensor("optimiser", _first(lambda t: torch.zeros(3))),
    "an optimiser of text": _tensor("optimiser", lambda named: {"x.exp_avg": torch.zeros(1)}),
    "units in flight that are none": _tensor("in_flight", lambda named: {"x": torch.zeros(1)}),
    "units in flight from elsewhere": lambda state, tensors: tensors.update(
        in_flight={"0": torch.zeros(3, dtype=torch.uint8)}
    ),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_checkpoint_with_its_digest_and_hostile_contents_is_one_line(
    run, tmp_path, run_in, capsys, newest, name
):
    _told(newest(run), HOSTILE[name])
    before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
    capsys.readouterr()
    assert run_in(tmp_path, "--resume", "runs/tiny", "--budget.games", "64") == 2, name
    err = capsys.readouterr().err
    assert err.startswith("error: ") and err.count("\n") == 1 and len(err) < 400, err
    assert "runs/tiny" in err
    changed = {path.name for path in before if path.read_bytes() != before[path]}
    assert changed <= {".lock"}, "nothing is changed"


def test_a_closed_pipe_leaves_a_checkpoint_and_says_how_to_go_on(
    tiny_toml, tmp_path, run_in, newest, finished, same_result
):
    command = f'"$0" -m train.command {tiny_toml} --evaluation.times 12'
    trainer = _start(tmp_path, f"{command} | head -2; echo ${{PIPESTATUS[0]}}")
    out, err = trainer.communicate(timeout=300)
    assert out.splitlines()[-1] == "141"
    assert err == "stopped; go on with: oware-train --resume runs/tiny\nstopped\n"
    run = tmp_path / "runs" / "tiny"
    assert read_state(newest(run))["units"] >= 1
    assert run_in(tmp_path, "--resume", "runs/tiny") == 0
    assert read_state(newest(run))["units"] == 6


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_terminated_trainer_leaves_a_checkpoint(
    tiny_toml, tmp_path, run_in, newest, number, code, finished, same_result
):
    trainer = _start(tmp_path, f'exec "$0" -m train.command {tiny_toml} --workers 2')
    log = tmp_path / "runs" / "tiny" / "metrics.jsonl"
    deadline = time.monotonic() + 200
    while time.monotonic() < deadline and not (log.is_file() and b'"unit": 1' in log.read_bytes()):
        time.sleep(0.02)
    trainer.send_signal(number)
    out, err = trainer.communicate(timeout=100)
    if trainer.returncode != 0:  # it had not ended before
        assert (trainer.returncode, err) == (code, "stopped\n")
        assert "go on with: oware-train --resume runs/tiny" in out
    assert run_in(tmp_path, "--resume", "runs/tiny", "--workers", "0") == 0
    assert same_result(finished, tmp_path / "runs" / "tiny")


def test_a_run_folder_that_is_deleted_meanwhile_is_one_line(tiny_toml, tmp_path):
    trainer = _start(tmp_path, f'exec "$0" -m train.command {tiny_toml} --budget.games 100000')
    log = tmp_path / "runs" / "tiny" / "metrics.jsonl"
    deadline = time.monotonic() + 200
    while time.monotonic() < deadline and not (log.is_file() and log.stat().st_size):
        time.sleep(0.02)
    (tmp_path / "runs").rename(tmp_path / "elsewhere")
    shutil.rmtree(tmp_path / "elsewhere")
    _, err = trainer.communicate(timeout=100)
    assert trainer.returncode == 2
    assert err == "error: the run folder runs/tiny is gone: it was deleted or moved\n"
    assert not (tmp_path / "runs").exists(), "nothing is written in its place"


def test_evaluations_under_way_when_a_run_stops_are_played_when_it_goes_on(
    tiny_toml, tmp_path, run_in, monkeypatch, newest
):
    from train import stream

    evaluate = stream.evaluate_unit

    def interrupted(unit):
        monkeypatch.setattr(stream, "evaluate_unit", evaluate)
        raise KeyboardInterrupt

    monkeypatch.setattr(stream, "evaluate_unit", interrupted)
    assert run_in(tmp_path, tiny_toml) == 130
    run = tmp_path / "runs" / "tiny"
    assert read_state(newest(run))["pending"] == [["random", None]] * 2
    assert run_in(tmp_path, "--resume", "runs/tiny") == 0
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    assert sum("evaluation/random" in line for line in lines) == 2
    assert sum("endgames/accuracy" in line for line in lines) == 2
    assert read_state(newest(run))["pending"] == []


def test_a_tiny_budget_is_evaluated_as_well(tiny_toml, tmp_path, run_in):
    options = ("--budget.games", "8", "--evaluation.times", "3")
    assert run_in(tmp_path, tiny_toml, *options) == 0
    text = (tmp_path / "runs" / "tiny" / "metrics.jsonl").read_text()
    assert text.count('"evaluation/random"') == 1, "three that fall due at once are one"


def test_a_colon_in_the_name_of_a_folder_is_no_fault(finished, tmp_path, run_in, capsys):
    run = shutil.copytree(finished, tmp_path / "2026-12-07T10:00" / "t")
    options = ["--evaluation.at-end", "random"]
    with chdir(tmp_path):
        assert run_in(tmp_path, "--resume", "2026-12-07T10:00/t", *options) == 0
        assert "2026-12-07T10:00/t:sims=2 against random" in capsys.readouterr().out
        assert run_in(tmp_path, "report", str(run)) == 0


def test_a_folder_of_other_letters_in_a_terminal_of_one_byte_is_no_fault(tiny_toml, tmp_path):
    folder = tmp_path / "日本"
    folder.mkdir()
    done = subprocess.run(
        [sys.executable, "-m", "train.command", tiny_toml, "--evaluation.at-end", "random"],
        cwd=folder,
        env={
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "LC_ALL": "C",
            "PYTHONUTF8": "0",
            "PYTHONCOERCECLOCALE": "0",
        },
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_an_edited_configuration_is_refused_with_both_values(run, tmp_path, run_in, capsys):
    config = (run / "config.toml").read_text()
    (run / "config.toml").write_text(config.replace("seed = 0", "seed = 5"))
    for words in (["--resume", "tiny"], ["replay", "tiny", "3"], ["export", "tiny"]):
        capsys.readouterr()
        assert run_in(tmp_path, *words) == 2
        line = "config.toml says seed = 5, and the run was trained with 0: put that back"
        assert line in capsys.readouterr().err


def test_rows_that_are_no_games_are_one_line(run, tmp_path, run_in, capsys, newest):
    path = run / "games" / "results" / "000000.rows"
    rows = np.frombuffer(path.read_bytes(), GAME).copy()
    checkpoint = newest(run)
    for name, value in (("first", -1), ("moves", 10**6), ("reason", 99), ("south", 49)):
        changed = rows.copy()
        changed[name][3] = value
        path.write_bytes(changed.tobytes())
        told = json.loads((checkpoint / STATE).read_text())["games_kept"]
        told["results"]["checksums"]["0"] = zlib.crc32(changed.tobytes())
        _told(checkpoint, _state(games_kept=told))
        capsys.readouterr()
        assert run_in(tmp_path, "replay", "tiny", "3") == 2
        said = capsys.readouterr().err
        assert "games/results: game 3" in said and said.count("\n") == 1
