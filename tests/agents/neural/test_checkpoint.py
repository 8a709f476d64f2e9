"""Checkpoints: whole or refused in one line; a damaged or half-written one harms no other."""

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from agents.neural import checkpoint
from agents.neural.checkpoint import (
    STATE,
    load_network,
    network_from,
    newest_checkpoint,
    read_state,
    read_tensors,
    write_checkpoint,
)
from agents.neural.network import build_network
from oware_env.errors import OwareError
from oware_env.rules import AWARI, Rules

ROOT = Path(__file__).resolve().parents[3]


def write(folder, *, preset="tiny", seed=0, rules=Rules(), network=None, **extra):
    """A checkpoint as training writes it, cut down to what a player needs."""
    weights = build_network(preset, seed).state_dict()
    state = {"rules": rules._asdict(), "network": network or preset, "steps": 7, **extra}
    folder.parent.mkdir(parents=True, exist_ok=True)
    write_checkpoint(folder, {"ema": weights, "model": weights}, state)
    return weights


def refusal(action, *arguments):
    """The one line that an action is refused with."""
    with pytest.raises(OwareError) as caught:
        action(*arguments)
    message = str(caught.value)
    assert "\n" not in message
    return message


@pytest.fixture
def folder(tmp_path):
    path = tmp_path / "checkpoints" / "step-00000007"
    write(path)
    return path


def test_what_was_written_is_read_back(tmp_path):
    folder = tmp_path / "new" / "step-00000001"
    weights = write(folder, seed=3, lengths=[1, 2], nested={"9": 1.5, "10": None})
    state = read_state(folder)
    assert (state["steps"], state["lengths"]) == (7, [1, 2])
    assert state["nested"] == {"9": 1.5, "10": None}
    for stem in ("ema", "model"):
        found = read_tensors(folder, stem)
        assert found.keys() == weights.keys()
        assert all(torch.equal(found[name], weights[name]) for name in weights)
    network = load_network(folder)
    assert not network.training
    assert all(torch.equal(network.state_dict()[name], weights[name]) for name in weights)


def test_keys_that_are_numbers_and_strange_tensors_are_read_back(tmp_path):
    odd = {
        "empty": torch.zeros(0),
        "turned": torch.arange(6).reshape(2, 3).t(),
        "one": torch.ones(()),
    }
    write_checkpoint(tmp_path / "c", {"odd": odd, "none": {}}, {"by_unit": {10: 1, 9: (2, 3)}})
    found = read_tensors(tmp_path / "c", "odd")
    assert all(torch.equal(found[name], odd[name]) for name in odd)
    assert read_tensors(tmp_path / "c", "none") == {}
    assert read_state(tmp_path / "c")["by_unit"] == {"10": 1, "9": [2, 3]}


def test_a_second_one_of_the_same_name_takes_the_place_of_the_first(folder):
    weights = write(folder, seed=9)
    assert torch.equal(read_tensors(folder, "ema")["first"], weights["first"])
    assert os.listdir(folder.parent) == [folder.name]


def test_no_file_of_a_checkpoint_is_a_pickle(folder):
    names = sorted(path.name for path in folder.iterdir())
    assert names == ["ema.safetensors", "model.safetensors", "state.json"]
    json.loads((folder / STATE).read_text())
    for path in folder.glob("*.safetensors"):
        content = path.read_bytes()
        size = int.from_bytes(content[:8], "little")  # the format: a length, JSON, plain numbers
        header = json.loads(content[8 : 8 + size])
        assert all(entry["dtype"] == "F32" for entry in header.values())
        assert 8 + size + max(entry["data_offsets"][1] for entry in header.values()) == len(content)


@pytest.mark.parametrize("keep", [0.0, 0.001, 0.5, 0.999])
@pytest.mark.parametrize("name", ["ema.safetensors", STATE])
def test_a_truncated_file_is_refused_by_name(folder, name, keep):
    content = (folder / name).read_bytes()
    (folder / name).write_bytes(content[: int(keep * len(content))])
    message = refusal(load_network, folder)
    assert str(folder) in message and name in message


@pytest.mark.parametrize("name", ["ema.safetensors", STATE])
def test_any_flipped_bit_is_noticed(folder, name):
    choose = random.Random(name)
    content = (folder / name).read_bytes()
    places = range(len(content)) if name == STATE else choose.sample(range(len(content)), 40)
    for place in places:
        damaged = bytearray(content)
        damaged[place] ^= 1 << choose.randrange(8)
        (folder / name).write_bytes(damaged)
        try:
            load_network(folder)
        except OwareError as error:
            assert str(folder) in str(error)
        else:  # only white space of the JSON may change without a change of meaning
            assert json.loads(damaged) == json.loads(content)


def test_a_missing_file_is_named(folder):
    (folder / "ema.safetensors").unlink()
    assert "ema.safetensors cannot be read" in refusal(load_network, folder)
    assert load_network(folder, stem="model").width == 64
    assert "nothing.safetensors cannot be read" in refusal(read_tensors, folder, "nothing")


def test_the_tensors_of_another_checkpoint_are_refused(folder, tmp_path):
    write(tmp_path / "other", seed=1)
    (tmp_path / "other" / "ema.safetensors").rename(folder / "ema.safetensors")
    assert "ema.safetensors is damaged" in refusal(load_network, folder)


@pytest.mark.parametrize("content", ["", "[1, 2]", '{"files": ', '{"a": 1}', "null", "\xff"])
def test_a_foreign_folder_is_refused(tmp_path, content):
    (tmp_path / STATE).write_bytes(content.encode("latin-1"))
    assert f"{tmp_path} is not a checkpoint" in refusal(load_network, tmp_path)


def test_a_folder_without_state_is_refused(tmp_path):
    message = f"{tmp_path} is not a checkpoint: it holds no readable state.json"
    assert refusal(load_network, tmp_path) == message


@pytest.mark.parametrize("name", ["format", "encoding"])
def test_another_format_is_refused_with_both_numbers(folder, name, monkeypatch):
    constant = {"format": "FORMAT", "encoding": "ENCODING_VERSION"}[name]
    ours = getattr(checkpoint, constant)
    monkeypatch.setattr(checkpoint, constant, 99)
    write(folder)
    monkeypatch.undo()
    said = f"checkpoint {folder} has {name} 99, this program reads {ours}"
    assert refusal(load_network, folder) == f"{said}: another version wrote it"


def test_other_rules_are_refused_with_both_named(folder):
    assert refusal(load_network, folder, AWARI) == (
        f"checkpoint {folder} was made under abapa (at most 400 plies), "
        "it cannot play under awari (at most 400 plies)"
    )
    write(folder, rules=AWARI)
    message = refusal(load_network, folder)
    assert "made under awari" in message and "cannot play under abapa" in message


def test_another_move_limit_is_noted_once_and_loads(folder, capsys):
    for _ in range(3):
        assert load_network(folder, Rules(max_plies=200)).width == 64
    assert capsys.readouterr().out == (
        f"note: {folder} was trained with at most 400 plies a game and now plays with 200\n"
    )
    load_network(folder)
    assert capsys.readouterr().out == ""


def test_another_architecture_is_refused_with_both_sides(folder):
    write(folder, preset="tiny", network="small")
    message = refusal(load_network, folder)
    assert "does not hold a 'small' network" in message
    assert "(64,) there, (128,) here" in message
    write(folder, preset="small", network="medium")
    assert "missing there" in refusal(load_network, folder)
    write(folder, preset="medium", network="small")
    assert "unknown here" in refusal(load_network, folder)


def test_an_unknown_preset_is_refused(folder):
    write(folder, network="huge")
    message = f"{folder} holds a network 'huge', not one of tiny, small, medium, deep, large"
    assert refusal(load_network, folder) == message


def test_weights_of_another_place_are_named():
    weights = build_network("tiny").state_dict()
    del weights["bias"]
    message = refusal(network_from, weights, "tiny", "unit 3")
    assert message == "unit 3 does not hold a 'tiny' network: bias is missing there, (64,) here"


KILLED = """
import os, signal, sys
from pathlib import Path
from agents.neural.checkpoint import write_checkpoint
from agents.neural.network import build_network

def die_at(moment):
    def counted(action):
        def act(*arguments):
            global left
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return action(*arguments)
        return act
    global left
    left, os.fsync, os.rename = moment, counted(os.fsync), counted(os.rename)

weights = build_network("tiny", 1).state_dict()
state = {"rules": {"max_plies": 400}, "network": "tiny"}
for moment in range(1, 7):
    child = os.fork()
    if child == 0:
        die_at(moment)
        write_checkpoint(Path(sys.argv[1]) / f"step-0000010{moment}", {"ema": weights}, state)
        os._exit(0)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


def run_script(script, *arguments):
    done = subprocess.run(
        [sys.executable, "-c", script, *map(str, arguments)],
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_kill_at_any_moment_of_writing_leaves_whole_checkpoints_only(folder):
    # Killed before: flushing the tensors, the state, their folder; the renaming; the last flush.
    assert run_script(KILLED, folder.parent).split() == ["-9"] * 5 + ["0"]
    found = sorted(path.name for path in folder.parent.glob("step-*"))
    assert found == [folder.name, "step-00000105", "step-00000106"]
    assert len(list(folder.parent.glob(".step-*.part"))) == 4
    for name in found:
        assert load_network(folder.with_name(name)).width == 64
    assert newest_checkpoint(folder.parent.parent).name == "step-00000106"


@pytest.mark.parametrize("complete", [False, True])
def test_what_a_kill_left_is_not_taken_for_a_checkpoint(folder, complete):
    left = folder.with_name(".step-00000008.123.part")
    left.mkdir()
    (left / "ema.safetensors").write_bytes(b"half")
    if complete:  # killed between the last file and the renaming
        (left / STATE).write_text((folder / STATE).read_text())
    (folder.parent / "step-00000009").mkdir()  # a folder without a state is none either
    assert newest_checkpoint(folder.parent.parent) == folder
    assert load_network(folder).width == 64


FULL_DISK = """
import resource, sys
from pathlib import Path
from agents.neural.checkpoint import write_checkpoint
from agents.neural.network import build_network
from oware_env.errors import OwareError
weights = build_network("tiny", 1).state_dict()
for limit in (0, 1000, 100_000):
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
    try:
        write_checkpoint(Path(sys.argv[1]), {"ema": weights}, {"rules": {}, "network": "tiny"})
    except OwareError as error:
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
        print(error)
"""


@pytest.mark.parametrize("name", ["step-00000007", "step-00000008"])
def test_a_full_disk_gives_one_line_and_harms_nothing(folder, name):
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    target = folder.with_name(name)
    message = (
        f"the checkpoint {target} could not be written: File too large; "
        "earlier checkpoints are as they were\n"
    )
    assert run_script(FULL_DISK, target) == 3 * message
    assert os.listdir(folder.parent) == [folder.name]
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    assert load_network(newest_checkpoint(folder.parent.parent)).width == 64


def test_a_folder_that_cannot_be_made_gives_one_line(tmp_path):
    (tmp_path / "file").write_text("")
    message = refusal(write_checkpoint, tmp_path / "file" / "step-1", {}, {})
    assert "could not be written: File exists" in message
