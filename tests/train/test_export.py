"""The data set of a run: what the run learned from, with labels that are proved."""

import json
import shutil
import tracemalloc

import numpy as np
import pytest

from agents.neural.checkpoint import newest_checkpoint, read_state
from agents.tablebase.probe import open_table
from oware_env.encoding import network_input
from oware_env.positions import Positions
from oware_env.state import State
from train import export
from train.alphazero import AlphaZero
from train.config import Config
from train.export import COLUMNS, EXACT, export_dataset
from train.games import kept_game
from train.replay import ReplayWindow
from train.run import config_text, run_config
from train.samples import DRAW, UNKNOWN_MARGIN, Samples
from train.shards import Shards
from train.training import open_training


@pytest.fixture(scope="module")
def run(tmp_path_factory, tiny):
    """A run with a table of eight seeds that keeps all its positions."""
    values = {
        "selfplay.endgames": "both",
        "selfplay.table": 8,
        "selfplay.played_on": 0.5,
        "max_plies": 300,
        "replay.least": 100,
        "replay.growth": 0.0,
        "replay.keep": True,
        "evaluation.times": 0,
    }
    with open_training(AlphaZero, tiny(values), None, 0.0, tmp_path_factory.mktemp("run")) as it:
        it.train()
    return it.run.path


@pytest.fixture(scope="module")
def data(run, tmp_path_factory):
    """Its data set, read without pickle."""
    path = tmp_path_factory.mktemp("data") / "all.npz"
    exported = export_dataset(run, path)
    assert str(exported).startswith(f"{path}: {exported.positions:,} positions (0.")
    assert exported.positions == exported.held == exported.made > 1000
    with np.load(path, allow_pickle=False) as file:
        return {name: file[name] for name in file.files}


def test_the_file_says_what_it_holds_and_where_it_is_from(run, data):
    about, state = json.loads(str(data["about"])), read_state(newest_checkpoint(run))
    assert list(data) == ["about", *COLUMNS, *EXACT] == ["about", *about["columns"]]
    for name, column in about["columns"].items():
        assert data[name].shape == tuple(column["shape"]) and data[name].dtype == column["dtype"]
        assert len(column["meaning"]) > 20
    count = about["positions"]
    assert (about["first"], about["made"], count) == (0, count, state["positions"])
    assert about["rules"] == state["rules"] and about["commit"] == state["commit"]
    assert Config(**about["config"]) == run_config(run)
    assert (about["format"], about["seed"], about["table"]) == ("oware-dataset 1", 0, 8)


def test_its_positions_are_those_that_the_run_put_into_its_window(run, data, tmp_path):
    config = run_config(run)
    window = ReplayWindow(config.replay, run / "replay")
    window.restore(read_state(newest_checkpoint(run))["replay"])
    learned, count = window.contents(), len(window)
    window.close()
    assert count == 100
    encoded = network_input(data["boards"], data["plies"], config.max_plies)
    assert np.array_equal(encoded[-count:], learned.inputs)
    for name in set(COLUMNS) & set(Samples._fields):
        assert data[name][-count:].tobytes() == getattr(learned, name).tobytes(), name


def test_every_game_of_the_file_is_the_kept_game_of_its_number(run, data):
    config = run_config(run)
    for number in (0, 17, 47):
        rows = np.flatnonzero(data["games"] == number)
        states = {state.ply: state for state in kept_game(run, number, config).record.states()}
        for row in rows:
            state = states[int(data["plies"][row])]
            assert state.board.tolist() == data["boards"][row].tolist()
        assert len(rows) in (len(states), len(states) - 1)  # the last one when it was proved


def test_exact_labels_are_what_the_table_says_and_the_targets_agree(run, data):
    known, low, high = (data[name] for name in ("exact_known", "exact_low", "exact_high"))
    for row in range(0, len(known), 7):
        board, ply = data["boards"][row], data["plies"][row]
        one = Positions(board[None], np.array([ply], np.int32), np.zeros(1, np.uint64))
        bounds = [int(array[0]) for array in open_table(8).bounds(one, 300)]
        assert bounds == [low[row], high[row]]
        leads = [int(board[12]) - int(board[13]) + bound for bound in bounds]
        assert known[row] == (np.sign(leads[0]) == np.sign(leads[1]))
        expected = DRAW - np.sign(leads[0]) if known[row] else export.NOT_PROVED
        assert data["exact_result"][row] == expected
    assert 0.1 < known.mean() < 0.9
    assert (data["results"][known] == data["exact_result"][known]).all()
    assert (data["values"][known] == DRAW - data["exact_result"][known]).all()
    exact = low == high
    assert exact.any() and (data["margins"][exact] == low[exact]).all()
    learned = data["margins"] != UNKNOWN_MARGIN
    assert ((low <= data["margins"]) & (data["margins"] <= high))[learned].all()


def test_last_and_another_table_select_what_is_written(run, data, tmp_path):
    exported = export_dataset(run, tmp_path / "few.npz", table=3, last=250)
    few = np.load(tmp_path / "few.npz", allow_pickle=False)
    assert len(few["boards"]) == 250 == exported.positions
    for name in COLUMNS:
        assert few[name].tobytes() == data[name][-250:].tobytes()
    about = json.loads(str(few["about"]))
    assert (about["table"], about["first"]) == (3, about["made"] - 250)
    assert few["exact_known"].sum() < data["exact_known"][-250:].sum()
    assert not (few["exact_known"] & ~data["exact_known"][-250:]).any()


def test_equal_exports_are_equal_files_whatever_the_pieces(run, tmp_path, monkeypatch):
    files = []
    for number, piece in enumerate((1 << 18, 100, 1 << 18)):
        monkeypatch.setattr(export, "PIECE", piece)
        files.append(export_dataset(run, tmp_path / f"{number}.npz").path.read_bytes())
    assert files[0] == files[1] == files[2]


def test_the_memory_it_takes_does_not_hold_the_positions(tmp_path, tiny, run, monkeypatch):
    # 40 pieces: what is held at once is a few of them and four bytes a position.
    folder = tmp_path / "big"
    shutil.copytree(run, folder)
    monkeypatch.setattr(export, "PIECE", 1 << 12)
    window = ReplayWindow(tiny().replay, folder / "replay")
    state = read_state(newest_checkpoint(folder))
    window.restore(state["replay"])
    part = window.contents()
    while window.total < 160_000:
        window.add(Samples(*(np.repeat(array, 40, axis=0) for array in part)))
    state["replay"] = window.state() | {"first": 0}
    window.close()
    monkeypatch.setattr(export, "read_state", lambda folder: state)
    check = Shards.look_at

    def check_first(shards, state):
        check(shards, state)  # reads one file after the other: at most 14 MB
        tracemalloc.reset_peak()

    monkeypatch.setattr(Shards, "look_at", check_first)
    tracemalloc.start()
    exported = export_dataset(folder, tmp_path / "big.npz")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert exported.positions >= 160_000
    assert peak < exported.positions * 4 + 8 * 53 * (1 << 12) < exported.positions * 53 / 3


def test_the_command_says_how_much_there_is_and_how_much_there_was(
    finished, tmp_path, run_in, capsys
):
    folder = tmp_path / "runs" / "tiny"
    shutil.copytree(finished, folder)
    assert run_in(tmp_path, "export", "tiny", "--last", "300") == 0
    said = capsys.readouterr().out
    assert said.startswith("runs/tiny/dataset.npz: 300 positions (0.0 MB)\n")
    with np.load(folder / "dataset.npz", allow_pickle=False) as file:
        assert set(file.files) == {"about", *COLUMNS}  # it was played without a table
        assert json.loads(str(file["about"]))["table"] is None
    held = export.Exported(folder / "dataset.npz", 300, 1_000, 4_000, 0.25)
    assert str(held).splitlines() == [
        f"{folder}/dataset.npz: 300 positions (0.0 MB), 25% with a proved result",
        "the run holds 1,000 of the 4,000 positions it made: one with replay.keep = true holds all",
    ]


MISTAKES = {
    "no run": ([], "give one run, such as: oware-train export quick --last 100000"),
    "two runs": (["tiny", "tiny"], "give one run, such as"),
    "an unknown run": (["small"], "there is no run or checkpoint folder runs/small"),
    "no positions": (["tiny", "--last", "0"], "last must be greater than or equal to 1, not 0"),
    "too large a table": (["tiny", "--table", "30"], "table must be less than or equal to 24"),
    "a table that is not built": (["tiny", "--table", "23"], "oware-tablebase build --seeds 23"),
    "no such folder": (
        ["tiny", "--output", "no/a.npz"],
        "written: there is no folder no",
    ),
    "a folder": (["tiny", "--output", "runs"], "runs cannot be written: it is a folder"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_one_line_and_leaves_nothing(name, finished, tmp_path, run_in, capsys):
    words, message = MISTAKES[name]
    shutil.copytree(finished, tmp_path / "runs" / "tiny")
    before = sorted(tmp_path.rglob("*"))
    assert run_in(tmp_path, "export", *words) == 2
    said = capsys.readouterr().err
    assert said.startswith("error: ") and message in said and said.count("\n") == 1
    assert sorted(tmp_path.rglob("*")) == before


def test_a_damaged_file_a_run_of_ppo_and_an_old_run_are_refused(
    finished, tmp_path, tiny_ppo, run_in, capsys
):
    run = tmp_path / "runs" / "tiny"
    shutil.copytree(finished, run)
    rows = run / "replay" / "000000.rows"
    rows.write_bytes(rows.read_bytes()[:-10])
    assert run_in(tmp_path, "export", "tiny") == 2
    assert "000000.rows was cut off: it holds" in capsys.readouterr().err
    (run / "config.toml").write_text(config_text(tiny_ppo()))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(export, "read_state", lambda folder: {"commit": "x"})
        assert run_in(tmp_path, "export", "tiny") == 2
    assert "runs/tiny holds no positions: ppo keeps none" in capsys.readouterr().err
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(export, "read_state", lambda folder: {"replay": {"rows": 5}})
        assert run_in(tmp_path, "export", "tiny") == 2
    assert "written by an earlier version" in capsys.readouterr().err


def test_boards_of_the_file_are_positions_of_the_game(data):
    for row in range(0, len(data["boards"]), 97):
        state = State.from_board(data["boards"][row], True)
        assert sum(state.houses) + sum(state.stores) == 48
        policy = data["policies"][row]
        assert set(np.flatnonzero(policy)) <= set(state.legal_moves)
