"""The run folder: everything needed to know a run, to see it and to train it again."""

import json
import math
import os
import re
import shutil
import time
import warnings
from contextlib import chdir

import numpy as np
import pytest

from agents.neural.checkpoint import read_state, read_tensors, write_checkpoint
from agents.settings import read_settings
from oware_env.errors import OwareError
from oware_env.files import Lock
from train.config import Config
from train.run import RunFolder, config_text, create_run, open_run, provenance, run_config

CURVES = {
    "loss/policy",
    "loss/result",
    "loss/margin",
    "loss/total",
    "selfplay/policy_entropy",
    "selfplay/search_surprise",
    "selfplay/game_length",
    "selfplay/limit_share",
    "selfplay/draw_rate",
    "selfplay/first_player_score",
    "speed/games_per_second",
    "speed/simulations_per_second",
    "speed/network_share",
    "speed/tree_share",
}


@pytest.fixture(scope="module")
def metrics(finished):
    lines = (finished / "metrics.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


def _curves(run):
    """Every TensorBoard scalar of a run: tag to [(step, value)]."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # tensorboard's own imports
        from tensorboard.backend.event_processing import event_accumulator  # type: ignore
    events = event_accumulator.EventAccumulator(str(run / "events"))
    events.Reload()
    tags = events.Tags()["scalars"]
    return {tag: [(event.step, event.value) for event in events.Scalars(tag)] for tag in tags}


DIFFERENT = {
    "name": "other-1.2",
    "seed": 2**40,
    "network": "large",
    "budget.steps": 123,
    "learning.learning_rate": 1e-5,
    "learning.margin_weight": 0.0,
    "selfplay.noise": 1.0,
    "replay.most": 7,
    "evaluation.during": (),
    "evaluation.at_end": ('runs/a "quoted" name', "runs/Éwé-\U0001f3b2", "back\\slash"),
}


@pytest.mark.parametrize("differences", [{}, DIFFERENT, {"budget.minutes": 1e300}])
def test_the_written_configuration_is_read_back_equal(tmp_path, differences):
    config = read_settings(Config, None, differences)
    path = tmp_path / "config.toml"
    path.write_text(config_text(config), encoding="utf-8")
    assert read_settings(Config, path) == config


def test_the_written_configuration_holds_every_value_that_is_set(tmp_path):
    text = config_text(Config())
    for section, values in Config().model_dump(exclude_none=True).items():
        for key in values if isinstance(values, dict) else [section]:
            assert re.search(rf"^{key} = ", text, re.MULTILINE), key


def test_the_configuration_of_a_run_trains_the_same_weights_again(finished, tmp_path, run_in):
    assert run_in(tmp_path, str(finished / "config.toml"), "--evaluation.at-end", "random") == 0
    first, second = (sorted(_checkpoints(run)) for run in (finished, tmp_path / "runs" / "tiny"))
    assert [path.name for path in first] == [path.name for path in second]
    ours, theirs = (read_tensors(folder[-1], "ema") for folder in (first, second))
    assert all((ours[name] == theirs[name]).all() for name in ours)


def _checkpoints(run):
    return (run / "checkpoints").iterdir()


def test_provenance_says_what_produced_the_run(finished):
    found = json.loads((finished / "run.json").read_text())
    assert found.keys() == provenance(0).keys()
    assert found["seed"] == 0
    assert re.fullmatch(r"([0-9a-f]{12}|v\d.*?)\+?|unknown", found["commit"])
    assert {"torch", "numpy", "numba"} <= found["versions"].keys()
    assert all(re.match(r"\d+\.\d+", version) for version in found["versions"].values())
    assert re.match(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", found["started"])


def test_a_checkpoint_says_what_it_is(finished, tiny):
    newest = max(_checkpoints(finished))
    state = read_state(newest)
    config = read_settings(Config, finished / "config.toml")
    assert json.dumps(state["config"]) == json.dumps(config.model_dump())
    assert state["rules"] == config.rules._asdict()
    assert (state["network"], state["seed"]) == ("tiny", 0)
    assert (state["units"], state["games"]) == (6, 48)
    assert newest.name == f"step-{state['steps']:08d}"
    assert state["commit"] and state["torch"]


def test_metrics_hold_one_line_for_each_unit_and_match(metrics):
    units = [line for line in metrics if "unit" in line]
    matches = [line for line in metrics if "evaluation/random" in line]
    assert [line["unit"] for line in units] == [0, 1, 2, 3, 4, 5]
    assert [line["total/games"] for line in units] == [8, 16, 24, 32, 40, 48]
    assert all(line.keys() >= CURVES for line in units)
    steps = [line["step"] for line in units]
    assert steps == sorted(set(steps)) and steps[0] >= 1
    assert [line["evaluation_games/random"] for line in matches] == [4, 4], (
        "all that were asked for"
    )
    assert 0.0 <= matches[0]["evaluation_low/random"] <= matches[0]["evaluation_high/random"] <= 1.0


def test_metrics_are_possible_values(metrics):
    for line in (line for line in metrics if "unit" in line):
        for name in CURVES:
            assert math.isfinite(line[name]) and line[name] >= 0.0, name
        for name in ("limit_share", "draw_rate", "first_player_score"):
            assert line[f"selfplay/{name}"] <= 1.0
        assert 0.0 < line["selfplay/game_length"] <= 40.0
        assert line["selfplay/policy_entropy"] <= math.log(6) + 1e-6
        assert line["speed/network_share"] + line["speed/tree_share"] == pytest.approx(1.0)


def test_tensorboard_shows_the_same_figures_as_the_metrics(finished, metrics):
    curves = _curves(finished)
    assert curves.keys() >= CURVES | {"evaluation/random"}
    for tag in (*CURVES, "evaluation/random"):
        expected = [(line["step"], line[tag]) for line in metrics if tag in line]
        assert [step for step, _ in curves[tag]] == [step for step, _ in expected]
        values = [value for _, value in curves[tag]]
        assert np.allclose(values, [value for _, value in expected], rtol=1e-5), tag


def test_the_final_table_is_kept_in_the_run(finished):
    table = next((finished / "results").glob("step-*/table.txt")).read_text()
    assert "random" in table and "greedy" in table and "tiny:sims=2" in table


def test_a_taken_name_gets_a_number(tmp_path):
    with chdir(tmp_path):
        names = []
        for _ in range(3):
            run = create_run(Config(name="again"))
            names.append(run.path.name)
            run.close()
    assert names == ["again", "again-2", "again-3"]
    assert all((tmp_path / "runs" / name / "config.toml").is_file() for name in names)


def test_a_folder_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "runs").write_text("a file is in the way")
    with chdir(tmp_path), pytest.raises(OwareError, match="run folder runs/run cannot be made"):
        create_run(Config())


def test_only_run_folders_with_a_checkpoint_are_opened(tmp_path):
    with pytest.raises(OwareError, match=r"is not the folder of a run: it holds no config\.toml"):
        open_run(tmp_path)
    (tmp_path / "config.toml").write_text(config_text(Config()))
    with pytest.raises(OwareError, match="holds no checkpoint"):
        open_run(tmp_path)


@pytest.mark.parametrize(
    ("newest", "every", "kept"), [(2, 0, [5, 6]), (1, 0, [6]), (1, 2, [2, 4, 6]), (2, 3, [3, 5, 6])]
)
def test_the_newest_checkpoints_are_kept_and_every_nth_and_nothing_half_written(
    tmp_path, newest, every, kept
):
    with chdir(tmp_path):
        run = create_run(Config())
        for number in range(1, 7):
            write_checkpoint(run.checkpoint_folder(number), {}, {"checkpoints": number})
        (run.path / "checkpoints" / ".step-00000400.77.part").mkdir()
        run.drop_old_checkpoints(newest, every)
        run.close()
        names = sorted(path.name for path in _checkpoints(run.path))
    assert names == [f"step-{number:08d}" for number in kept]


def test_a_run_that_is_opened_again_forgets_what_its_checkpoint_does_not_know(tmp_path):
    with chdir(tmp_path):
        run = create_run(Config())
        for step in (10, 20, 20):
            run.log(step, {"loss/total": float(step), "note": "text is no curve"})
        logged = run.logged()
        run.log(30, {"loss/total": 30.0})
        run.close()
        write_checkpoint(run.checkpoint_folder(20), {}, {"steps": 20, "log": logged})
        with (run.path / "metrics.jsonl").open("a") as file:
            file.write('{"step": 40, "los')  # torn by a crash
        time.sleep(1.1)  # TensorBoard tells files apart by the second they were begun in
        run = open_run(run.path)
        run.log(30, {"loss/total": 31.0})
        run.close()
    text = (tmp_path / run.path / "metrics.jsonl").read_text()
    lines = [json.loads(line) for line in text.splitlines()]
    expected = [(10, 10.0), (20, 20.0), (20, 20.0), (30, 31.0)]
    assert [(line["step"], line["loss/total"]) for line in lines] == expected
    assert _curves(tmp_path / run.path) == {"loss/total": expected}


def test_a_full_disk_while_logging_is_one_clear_line(tmp_path):
    (tmp_path / "metrics.jsonl").symlink_to("/dev/full")
    (tmp_path / "config.toml").touch()
    run = RunFolder(tmp_path, Lock(tmp_path, "run"))
    with pytest.raises(OwareError, match=r"metrics.jsonl cannot be written: No space left"):
        run.log(1, {"loss": 0.5})
    run.close()


def _logging_run(folder):
    """A run whose checkpoint tells of two lines of its log; its folder."""
    with chdir(folder):
        run = create_run(Config())
        for step in (1, 2):
            run.log(step, {"loss/total": 0.5})
        state = {"steps": 2, "log": run.logged(), "config": Config().model_dump()}
        write_checkpoint(run.checkpoint_folder(2), {}, state)
        run.close()
    return folder / run.path


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda log: log.write_bytes(log.read_bytes()[:-1]), "is damaged: its first"),
        (lambda log: log.write_bytes(log.read_bytes()[:5]), "is damaged: its first"),
        (lambda log: log.write_text(log.read_text().replace("0.5", "0.4")), "is damaged: its"),
        (lambda log: (log.unlink(), log.mkdir()), "cannot be read: Is a directory"),
        (lambda log: log.write_bytes(b"\xff" + log.read_bytes()), "is damaged: its first"),
    ],
    ids=["a byte less", "cut off", "another number", "a folder", "another byte"],
)
def test_a_log_that_is_not_what_was_logged_is_refused_and_left_alone(tmp_path, change, message):
    run = _logging_run(tmp_path)
    log = run / "metrics.jsonl"
    change(log)
    before = log.read_bytes() if log.is_file() else None
    with pytest.raises(OwareError, match=rf"metrics\.jsonl {message}"):
        open_run(run)
    assert before == (log.read_bytes() if log.is_file() else None)
    Lock(run, "run").release()  # and the folder is free


@pytest.mark.parametrize(
    "tail", [b'{"step": 3, "los', b"{}\n", b"5\n", b"\xff\n", b'{"step": "3"}\n']
)
def test_whatever_stands_behind_what_the_checkpoint_tells_of_is_dropped(tmp_path, tail):
    run = _logging_run(tmp_path)
    log = run / "metrics.jsonl"
    before = log.read_bytes()
    log.write_bytes(before + tail)
    open_run(run).close()
    assert log.read_bytes() == before


def test_a_log_that_is_gone_begins_anew_and_that_is_said(tmp_path, capsys):
    run = _logging_run(tmp_path)
    (run / "metrics.jsonl").unlink()
    open_run(run).close()
    assert capsys.readouterr().err == f"note: {run}/metrics.jsonl is gone: curves begin here\n"
    assert (run / "metrics.jsonl").read_bytes() == b""


def test_one_process_at_a_time_writes_into_a_run_and_readers_do_not_mind(tmp_path):
    run = _logging_run(tmp_path)
    held = open_run(run)
    line = rf"another process \({os.getpid()}\) is writing the run {run}: wait for it or stop it"
    with pytest.raises(OwareError, match=line):
        open_run(run)
    assert run_config(run) == Config()
    held.close()
    open_run(run).close()


def test_a_run_folder_that_is_gone_is_one_line(tmp_path):
    with chdir(tmp_path):
        run = create_run(Config())
        shutil.rmtree(run.path)
        for write in (lambda: run.log(1, {"loss": 0.5}), run.check):
            with pytest.raises(OwareError, match="the run folder runs/run is gone"):
                write()
        run.close()


@pytest.mark.parametrize("what", ["events", "metrics.jsonl", ".lock"])
def test_a_place_that_is_taken_by_something_else_is_one_line(tmp_path, what):
    run = _logging_run(tmp_path)
    path = run / what
    shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
    path.write_text("a file") if what == "events" else path.mkdir()
    with pytest.raises(OwareError, match=rf"{what} cannot be (written|read): "):
        open_run(run)
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    open_run(run).close()


@pytest.mark.parametrize(
    ("key", "value"), [("seed", 5), ("learning.learning_rate", 0.01), ("max_plies", 100)]
)
def test_a_configuration_that_was_edited_afterwards_is_refused(tmp_path, key, value):
    run = _logging_run(tmp_path)
    state = {"steps": 2, "config": Config().model_dump()}
    write_checkpoint(run / "checkpoints" / "step-00000003", {}, state)
    edited = read_settings(Config, None, {key: value})
    (run / "config.toml").write_text(config_text(edited))
    with pytest.raises(OwareError, match=f"says {key} = .*, and the run was trained with .*: put"):
        run_config(run)
    harmless = read_settings(Config, None, {"budget.minutes": 9.0, "workers": 1})
    (run / "config.toml").write_text(config_text(harmless))
    assert run_config(run) == harmless
