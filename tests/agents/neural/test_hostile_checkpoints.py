"""Checkpoints made by somebody else, with right digests: every key and every weight is checked."""

import errno
import hashlib
import json
import os
import random

import pytest
import torch
from safetensors.torch import save

from agents.neural.checkpoint import (
    STATE,
    checkpoints,
    load_network,
    network_from,
    newest_checkpoint,
    read_state,
    read_tensors,
    whole_before,
    write_checkpoint,
)
from agents.neural.network import build_network
from oware_env.errors import OwareError
from oware_env.files import digest_of
from oware_env.rules import Rules

SHARDS = {"rows": 9, "first": 0, "checksums": {"0": 7}}
STATE_OF_A_RUN = {
    "rules": Rules()._asdict(),
    "network": "tiny",
    "config": {"name": "t"},
    "seed": 3,
    "commit": "abc",
    "torch": "2",
    "steps": 7,
    "units": 2,
    "games": 16,
    "positions": 900,
    "minutes": 0.5,
    "evaluations": 0,
    "checkpoints": 1,
    "games_kept": {"results": SHARDS, "moves": SHARDS},
    "replay": SHARDS | {"columns": ["boards"]},
    "pool_spacing": 2,
}
WEIGHTS = build_network("tiny").state_dict()


def write(folder, tensors=WEIGHTS, **changes):
    """A checkpoint as training writes it."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    write_checkpoint(folder, {"ema": dict(tensors)}, STATE_OF_A_RUN | changes)
    return folder


def rewrite(folder, change):
    """Change a state.json and give it the digest that goes with it."""
    state = json.loads((folder / STATE).read_text())
    change(state)
    text = json.dumps(state)
    state["digest"] = digest_of(json.loads(text))
    (folder / STATE).write_text(json.dumps(state))


def refusal(action, *arguments):
    """The one line that an action is refused with."""
    with pytest.raises(OwareError) as caught:
        action(*arguments)
    message = str(caught.value)
    assert "\n" not in message and message.isprintable() and len(message) < 700
    return message


@pytest.fixture
def folder(tmp_path):
    return write(tmp_path / "t" / "checkpoints" / "step-00000007")


def test_a_checkpoint_written_by_these_tests_is_one(folder):
    assert read_state(folder) == json.loads((folder / STATE).read_text())
    rewrite(folder, lambda state: state)
    assert load_network(folder).width == 64


NO_COUNTS = (-1, 2**63, 2**64, 7**3000, 1.0, float("nan"), True, None, "7", [], {})
NO_TEXTS = (7, 1.5, True, [], {})
NO_SHARDS = (
    *(None, 7, [], {}, {"rows": 1}, SHARDS | {"rows": -1}, SHARDS | {"first": 10}),
    *(SHARDS | {"checksums": bad} for bad in (None, [7], {"x": 1}, {"0": -1}, {"0": 2**32})),
    *(SHARDS | {"checksums": bad} for bad in ({"0": "7"}, {"../0": 1}, {"９": 1})),
    *(SHARDS | {"rows": True}, SHARDS | {"first": 0.0}),
)
WRONG = {
    "rules": [
        *(None, 7, [], "abapa", {"max_plies": 0}, {"max_plies": -5}, {"max_plies": "a"}),
        *({"max_plies": 2**31}, {"max_plies": 400.0}, {"max_plies": True}, {"slam": 2}),
        *({"slam": -1}, {"slam": None}, {"slam": False}, {"limit": [0]}, {"other": 1}),
    ],
    "network": [None, 7, [], {}, ["tiny"], "tin", "x" * 10_000, "\x1b[31m", ""],
    "config": [None, 7, [], "a"],
    "seed": [-1, 2**64, 1.5, None, "3", True],
    "minutes": [-0.1, float("nan"), float("inf"), None, "1", True, []],
    "files": [
        None,
        7,
        [],
        "ema",
        {"ema": 7},
        {"ema": "00"},
        {"ema": "G" * 64},
        {"../ema": "0" * 64},
    ],
    "replay": NO_SHARDS,
    "games_kept": [None, 7, [], {}, SHARDS, {"results": SHARDS}, {"results": 1, "moves": 2}],
    "pool_spacing": [0, *NO_COUNTS],
    **{name: NO_TEXTS for name in ("commit", "torch", "machine")},
    **{
        name: NO_COUNTS
        for name in ("steps", "units", "games", "positions", "evaluations", "checkpoints")
    },
}


@pytest.mark.parametrize("key", WRONG)
def test_a_key_that_cannot_be_is_refused_by_name(folder, key):
    for value in WRONG[key]:
        rewrite(folder, lambda state, value=value: state.update({key: value}))
        message = refusal(load_network, folder)
        assert str(folder) in message and key in message


def test_a_key_that_is_missing_is_named_when_it_is_asked_for(folder):
    for key in STATE_OF_A_RUN:
        write(folder)
        rewrite(folder, lambda state, key=key: state.pop(key))
        state = read_state(folder)
        assert key not in state and state.get(key) is None
        assert refusal(state.__getitem__, key) == (
            f"{folder / STATE} does not say its {key!r}: another program wrote it"
        )
        if key in ("rules", "network"):
            assert f"its {key!r}" in refusal(load_network, folder)


@pytest.mark.parametrize(
    "text",
    [
        *("[" * 20_000, '{"a":' * 20_000, '{"files": {}, "steps": ' + "7" * 5000 + "}"),
        *('{"files": {}, "format": ' + "7" * 4000 + "}", '{"files": {}, "format": "\\u001b[31m"}'),
        '{"files": {}, "format": 1, "encoding": 2, "x": ' + "[" * 900 + "]" * 900 + "}",
        '{"files": {}, "format": ' + "[" * 900 + "]" * 900 + "}",
    ],
)
def test_a_state_that_is_no_document_is_refused(folder, text):
    (folder / STATE).write_text(text)
    refusal(load_network, folder)
    refusal(read_tensors, folder, "ema")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda w: w.to(torch.float64), "bias is float64 there, float32 here"),
        (lambda w: w.to(torch.float16), "bias is float16 there"),
        (lambda w: w.to(torch.bfloat16), "bias is bfloat16 there"),
        (lambda w: w.to(torch.int8), "bias is int8 there"),
        (lambda w: w.to(torch.complex64), "bias is complex64 there"),
        (lambda w: w.bool(), "bias is bool there"),
        (lambda w: w * float("nan"), "bias holds a number that is not finite"),
        (lambda w: w + float("inf"), "bias holds a number that is not finite"),
        (lambda w: w[:-1], "bias is (63,) there, (64,) here"),
        (lambda w: w[None], "bias is (1, 64) there, (64,) here"),
        (lambda w: torch.zeros(0), "bias is (0,) there, (64,) here"),
        (lambda w: torch.zeros(()), "bias is () there, (64,) here"),
    ],
)
def test_weights_of_another_kind_are_refused_by_name(folder, change, message):
    weights = {name: tensor.clone() for name, tensor in WEIGHTS.items()}
    weights["bias"] = change(weights["bias"])
    write(folder, weights)
    assert message in refusal(load_network, folder)
    assert message in refusal(network_from, weights, "tiny", "unit 3")


@pytest.mark.parametrize("name", ["other", "", "bias.x", "\x1b[31m", "x" * 10_000, "日本"])
def test_a_weight_of_another_name_is_refused(folder, name):
    write(folder, WEIGHTS | {name: torch.zeros(1)})
    assert "unknown here" in refusal(load_network, folder)


def with_content(folder, content):
    """Put bytes in the place of the weights, and their digest into the state."""
    (folder / "ema.safetensors").write_bytes(content)
    digest = hashlib.sha256(content).hexdigest()
    rewrite(folder, lambda state: state["files"].update({"ema": digest}))


def crafted(header, data=b""):
    """A safetensors file by hand."""
    head = header if isinstance(header, bytes) else json.dumps(header).encode()
    return len(head).to_bytes(8, "little") + head + data


@pytest.mark.parametrize(
    "content",
    [
        *(b"", b"x", b"\xff" * 8, (2**63).to_bytes(8, "little"), crafted(b"[" * 20_000)),
        *(crafted({}), crafted([]), crafted(None), crafted(b"{"), crafted({"a": 1})),
        crafted({"bias": {"dtype": "F32", "shape": [64], "data_offsets": [-256, 0]}}, bytes(256)),
        crafted({"bias": {"dtype": "F32", "shape": [64], "data_offsets": [0, 2**64]}}, bytes(256)),
        crafted({"bias": {"dtype": "F32", "shape": [2**62, 8], "data_offsets": [0, 0]}}),
        crafted({"bias": {"dtype": "F32", "shape": [0, 2**63], "data_offsets": [0, 0]}}),
        crafted({"bias": {"dtype": "F32", "shape": [0, 2**62, 2**62], "data_offsets": [0, 0]}}),
        crafted({"bias": {"dtype": "F4", "shape": [4], "data_offsets": [0, 2]}}, bytes(2)),
        crafted({"bias": {"dtype": "F8_E8M0", "shape": [4], "data_offsets": [0, 4]}}, bytes(4)),
        crafted({"bias": {"dtype": "U64", "shape": [1], "data_offsets": [0, 8]}}, bytes(8)),
    ],
)
def test_a_file_of_weights_that_is_none_is_refused(folder, content):
    with_content(folder, content)
    assert "ema" in refusal(load_network, folder) or "network" in refusal(load_network, folder)


def run_of(tmp_path, *steps):
    """The folder of a run with checkpoints."""
    for step in steps:
        write(tmp_path / "t" / "checkpoints" / f"step-{step:08d}", steps=step)
    (tmp_path / "t" / "config.toml").write_text("")
    return tmp_path / "t"


def test_checkpoints_are_listed_from_the_oldest_whatever_their_number_of_digits(tmp_path):
    run = run_of(tmp_path, 99_999_999, 100_000_000, 40)
    for name in ("step-x", "step-00000099", "other", ".step-00000001.7.part", "step-９"):
        (run / "checkpoints" / name).mkdir()
    (run / "checkpoints" / "step-x" / STATE).write_text("{}")
    names = [path.name for path in checkpoints(run)]
    assert names == ["step-00000040", "step-99999999", "step-100000000"]
    assert newest_checkpoint(run).name == "step-100000000"
    assert checkpoints(tmp_path / "none") == [] == checkpoints(tmp_path / ("a" * 300))


def test_a_damaged_checkpoint_names_the_newest_whole_one(tmp_path):
    run = run_of(tmp_path, 10, 20, 30, 40)
    folder, second, third, newest = checkpoints(run)
    assert whole_before(newest) == third and whole_before(folder) is None
    for name in ("ema.safetensors", STATE):
        content = (newest / name).read_bytes()
        (newest / name).write_bytes(content[:-9] + b"x" + content[-8:])
        message = refusal(load_network, newest)
        assert name in message and message.endswith(f"; {third} is whole: name it instead")
        assert message.count("is whole") == 1
        (newest / name).write_bytes(content)
    (newest / "ema.safetensors").unlink()
    (third / "ema.safetensors").write_bytes(b"")
    (second / STATE).write_bytes(b"{}")
    for action in (lambda: load_network(newest), lambda: read_tensors(newest, "ema")):
        assert refusal(action).endswith(f"cannot be read: No such file or directory{hint(folder)}")
    assert refusal(load_network, third).endswith(hint(folder))
    assert refusal(load_network, second).endswith(hint(folder))
    (folder / "ema.safetensors").unlink()
    assert "is whole" not in refusal(load_network, newest)
    assert whole_before(newest) is None


def hint(folder):
    return f"; {folder} is whole: name it instead"


def test_a_checkpoint_outside_of_a_run_names_no_other(tmp_path):
    write(tmp_path / "step-00000001")
    (write(tmp_path / "step-00000002") / "ema.safetensors").write_bytes(b"")
    assert "is whole" not in refusal(load_network, tmp_path / "step-00000002")


def test_a_run_that_was_stopped_early_is_told_from_a_folder_of_something_else(tmp_path):
    run = run_of(tmp_path, 1)
    (run / "checkpoints" / "step-00000001" / STATE).unlink()
    assert refusal(newest_checkpoint, run) == (
        f"{run} holds no checkpoint: the run was stopped before its first one"
    )
    (run / "config.toml").unlink()
    assert refusal(newest_checkpoint, run) == (
        f"{run} holds no checkpoint: it is not the folder of a run"
    )


@pytest.mark.parametrize("name", ["a" * 300, "日" * 100, "a\0b", "x/" * 3000])
def test_a_name_that_no_system_takes_is_one_line(tmp_path, name):
    path = tmp_path / name
    for action in (newest_checkpoint, load_network, read_state):
        with pytest.raises(OwareError) as caught:
            action(path)
        assert "\n" not in str(caught.value)
    with pytest.raises(OwareError):
        write_checkpoint(path, {"ema": WEIGHTS}, STATE_OF_A_RUN)


def test_a_system_that_opens_no_folders_writes_checkpoints(tmp_path, monkeypatch):
    def only_files(path, *rest, open_=os.open):
        if os.path.isdir(path):
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return open_(path, *rest)

    monkeypatch.setattr(os, "open", only_files)
    assert load_network(write(tmp_path / "step-00000001")).width == 64


def test_an_interrupt_in_the_middle_of_replacing_one_leaves_it(folder, monkeypatch):
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    renames = []

    def interrupt(old, new, rename=os.rename):
        renames.append(new)
        if len(renames) == 2:
            raise KeyboardInterrupt
        rename(old, new)

    monkeypatch.setattr(os, "rename", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write(folder, steps=9)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    assert os.listdir(folder.parent) == [folder.name]


def test_what_a_folder_is_called_is_printed_as_text(tmp_path, capsys):
    load_network(write(tmp_path / "a\x1b[31mb"), Rules(max_plies=200))
    assert "\x1b" not in capsys.readouterr().out


def odd_value(choose):
    """A value that a forger may write into JSON."""
    return choose.choice(
        [
            *(choose.randrange(-5, 500), choose.randrange(2**66), -choose.randrange(2**66)),
            *(None, True, 0.5, float("nan"), float("inf"), "a", "tiny", "small", "", [], {}),
            *([0, 8], {"max_plies": choose.randrange(-9, 500)}, SHARDS, {"ema": "0" * 64}),
        ]
    )


def odd_tensor(choose, tensor):
    """Another tensor for the place of one."""
    kinds = (torch.float64, torch.int8, torch.bool, torch.complex64, torch.bfloat16, torch.float32)
    values = (0.0, 1e30, float("nan"), float("-inf"))
    return choose.choice(
        [
            torch.ones(tensor.shape, dtype=choose.choice(kinds)),
            tensor.flatten().clone(),
            tensor.flatten()[:-1].clone(),
            torch.full(tensor.shape, choose.choice(values)),
            torch.zeros([choose.randrange(3) for _ in range(choose.randrange(3))]),
        ]
    )


def mutate(choose, folder):
    """Change a checkpoint in a few places and give it the digests that go with it."""
    state = json.loads((folder / STATE).read_text())
    weights = {name: tensor.clone() for name, tensor in WEIGHTS.items()}
    content = save(weights)
    for _ in range(choose.randrange(1, 4)):
        kind = choose.randrange(5)
        if kind == 0:
            state[choose.choice([*state, "other"])] = odd_value(choose)
        elif kind == 1:
            state.pop(choose.choice([*state]))
        elif kind == 2:
            inner = [value for value in state.values() if isinstance(value, dict) and value]
            if inner:
                place = choose.choice(inner)
                place[choose.choice([*place, "other"])] = odd_value(choose)
        elif kind == 3:
            name = choose.choice([*weights])
            weights[choose.choice([name, "other"])] = odd_tensor(choose, weights[name])
            content = save(weights)
        else:
            place = choose.randrange(min(len(content), 2000))
            content = content[:place] + choose.randbytes(choose.randrange(4)) + content[place + 3 :]
    (folder / "ema.safetensors").write_bytes(content)
    if isinstance(state.get("files"), dict):
        state["files"].setdefault("ema", "")
        state["files"]["ema"] = hashlib.sha256(content).hexdigest()
    state["digest"] = digest_of(json.loads(json.dumps(state)))
    (folder / STATE).write_text(json.dumps(state))


def hammer(folder, count, seed):
    """Load so many mutations; how many were taken."""
    choose, taken = random.Random(seed), 0
    write(folder)
    whole = (folder / STATE).read_text()
    for _ in range(count):
        (folder / STATE).write_text(whole)
        mutate(choose, folder)
        try:
            network = load_network(folder)
        except OwareError as error:
            assert "\n" not in str(error) and str(error).isprintable()
            continue
        taken += 1
        for name, tensor in network.state_dict().items():
            assert tensor.dtype == torch.float32 and torch.isfinite(tensor).all(), name
    return taken


def test_no_mutation_of_a_checkpoint_does_more_than_raise_one_line(tmp_path):
    assert 4 < hammer(tmp_path / "step-00000001", 80, 0) < 60
