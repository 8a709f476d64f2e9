"""Checkpoints: a folder of safetensors files and one state.json that says what they are.

Written to a temporary folder, flushed to disk and renamed, so a folder that exists is complete;
the digest of every file, state.json included, stands in state.json, so a damaged one is noticed.
What a state says is checked as well (``checkpoint_state``): a right digest makes no sense of it.
Never pickle.
"""

import hashlib
import json
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor

from agents.neural.checkpoint_state import STATE, CheckpointState, parse_state
from agents.neural.network import PRESETS, Network
from oware_env.encoding import ENCODING_VERSION
from oware_env.errors import OwareError, shown
from oware_env.files import (
    PART,
    flush_folder,
    is_file,
    is_folder,
    is_there,
    part_of,
    printable,
    read_bytes,
    said,
    seal,
)
from oware_env.rules import Rules, describe_rules

FORMAT = 1
CHECKPOINTS = "checkpoints"  # folder of a run that holds them
CONFIG = "config.toml"  # what makes a folder that of a run
_REASON = 200  # characters that are shown of why tensors cannot be read
_NAME = re.compile(r"step-([0-9]+)")


def write_checkpoint(
    folder: Path, tensors: dict[str, dict[str, Tensor]], state: dict[str, Any]
) -> None:
    """Write ``tensors`` (file stem to named tensors) and ``state`` as one complete folder.

    The folder it stands in may be missing, but not the one above: a run that was deleted while it
    trained is not begun again. Raises OwareError, with what was there before untouched, when the
    disk does not take it.
    """
    temporary = part_of(folder)
    refused = f"the checkpoint {folder}", "could not be written"
    with said(*refused, "; earlier checkpoints are as they were"):
        try:
            shutil.rmtree(temporary, ignore_errors=True)
            folder.parent.mkdir(exist_ok=True)
            temporary.mkdir()
            digests = {}
            for stem, named in tensors.items():
                content = save({name: tensor.contiguous() for name, tensor in named.items()})
                digests[stem] = hashlib.sha256(content).hexdigest()
                _write_flushed(temporary / f"{stem}.safetensors", content)
            document = {"format": FORMAT, "encoding": ENCODING_VERSION, **state, "files": digests}
            _write_flushed(temporary / STATE, json.dumps(seal(document), indent=2).encode())
            flush_folder(temporary)
            _put_in_place(temporary, folder)
        except BaseException:
            shutil.rmtree(temporary, ignore_errors=True)
            raise
        flush_folder(folder.parent)


def _write_flushed(path: Path, content: bytes) -> None:
    with path.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _put_in_place(temporary: Path, folder: Path) -> None:
    """Rename to ``folder``; one of that name is moved aside first and deleted last."""
    aside = folder.with_name(f"{temporary.stem}.old{PART}")
    shutil.rmtree(aside, ignore_errors=True)
    if is_there(folder):
        folder.rename(aside)
    try:
        temporary.rename(folder)
    except BaseException:
        if is_there(aside):
            aside.rename(folder)
        raise
    shutil.rmtree(aside, ignore_errors=True)


def checkpoints(run: Path) -> list[Path]:
    """The complete checkpoint folders of a run, the oldest first; none where there is no run."""
    folder = run / CHECKPOINTS
    if not is_folder(folder):
        return []
    with said(folder, "cannot be read"):
        names = os.listdir(folder)
    found = {name: _NAME.fullmatch(name) for name in names if is_file(folder / name / STATE)}
    steps = {name: (len(step[1].lstrip("0")), step[1]) for name, step in found.items() if step}
    return [folder / name for name in sorted(steps, key=steps.__getitem__)]


def whole_before(folder: Path) -> Path | None:
    """The newest older checkpoint of the same run whose every file is as it was written."""
    older = []
    for one in checkpoints(folder.parent.parent) if folder.parent.name == CHECKPOINTS else []:
        if one.name == folder.name:
            break
        older.append(one)
    return next((one for one in reversed(older) if _is_whole(one)), None)


def check_whole(folder: Path) -> None:
    """Raise OwareError when some file of a checkpoint is not as it was written."""
    for stem in _read_state(folder)["files"]:
        _read_content(folder, stem)


def _is_whole(folder: Path) -> bool:
    try:
        check_whole(folder)
    except OwareError:
        return False
    return True


@contextmanager
def _naming_whole_ones(folder: Path) -> Iterator[None]:
    """A fault of a checkpoint ends with the older one that is whole, if there is one."""
    try:
        yield
    except OwareError as error:
        whole = whole_before(folder)
        if whole is None:
            raise
        raise OwareError(f"{error}; {whole} is whole: name it instead") from None


def newest_checkpoint(path: Path) -> Path:
    """``path`` when it is a checkpoint folder, else the newest checkpoint of a run folder.

    Raises OwareError in one line when it is neither.
    """
    if is_file(path / STATE):
        return path
    if not is_folder(path):
        raise OwareError(f"there is no run or checkpoint folder {path}")
    found = checkpoints(path)
    if found:
        return found[-1]
    if is_file(path / CONFIG):
        raise OwareError(f"{path} holds no checkpoint: the run was stopped before its first one")
    raise OwareError(f"{path} holds no checkpoint: it is not the folder of a run")


def read_state(folder: Path) -> CheckpointState:
    """The state.json of a checkpoint folder, checked; raises OwareError when it is none.

    So does asking it for what it lacks. In the folder of a run the message names the newest older
    checkpoint that is whole.
    """
    with _naming_whole_ones(folder):
        return _read_state(folder)


def _read_state(folder: Path) -> CheckpointState:
    return parse_state(folder, {"format": FORMAT, "encoding": ENCODING_VERSION})


def read_tensors(folder: Path, stem: str) -> dict[str, Tensor]:
    """The tensors of one file of a checkpoint; raises OwareError when it is damaged."""
    with _naming_whole_ones(folder):
        return _read_tensors(folder, stem)


def _read_tensors(folder: Path, stem: str) -> dict[str, Tensor]:
    content = _read_content(folder, stem)
    try:
        return load(content)
    # What it raises depends on the fault: its own error, or that of torch for a type.
    except (SafetensorError, KeyError, ValueError, TypeError, RuntimeError) as error:
        reason = printable(str(error).split("\n")[0])[:_REASON]
        raise OwareError(f"{folder / stem}.safetensors cannot be read: {reason}") from None


def _read_content(folder: Path, stem: str) -> bytes:
    """The bytes of one file of a checkpoint, when they are those that were written."""
    path = folder / f"{stem}.safetensors"
    content = read_bytes(path)
    if hashlib.sha256(content).hexdigest() != _read_state(folder)["files"].get(stem):
        raise OwareError(f"{path} is damaged: it is not what the checkpoint wrote")
    return content


def check_rules(state: dict[str, Any], rules: Rules, folder: Path) -> None:
    """Refuse a checkpoint made under other rules; say so once when only max_plies differs."""
    made = Rules(**state["rules"])
    if made[1:] != rules[1:]:
        raise OwareError(
            f"checkpoint {folder} was made under {describe_rules(made)}, "
            f"it cannot play under {describe_rules(rules)}"
        )
    if made.max_plies != rules.max_plies and (folder, rules) not in _NOTICED:
        _NOTICED.add((folder, rules))
        print(
            f"note: {printable(str(folder))} was trained with at most {made.max_plies} plies a "
            f"game and now plays with {rules.max_plies}"
        )


_NOTICED: set[tuple[Path, Rules]] = set()


def load_network(folder: Path, rules: Rules = Rules(), stem: str = "ema") -> Network:
    """The network of a checkpoint (its averaged weights), ready to play under ``rules``."""
    state = read_state(folder)
    check_rules(state, rules, folder)
    with _naming_whole_ones(folder):
        return network_from(_read_tensors(folder, stem), state["network"], str(folder))


def network_from(weights: dict[str, Tensor], preset: str, source: str) -> Network:
    """A network of a preset with these weights; OwareError names both sides when they differ.

    Weights are float32 and finite.
    """
    if not isinstance(preset, str) or preset not in PRESETS:  # such as a list
        raise OwareError(
            f"{source} holds a network {shown(preset)}, not one of {', '.join(PRESETS)}"
        )
    network = Network(*PRESETS[preset])
    wanted = {name: tuple(tensor.shape) for name, tensor in network.state_dict().items()}
    found = {name: tuple(tensor.shape) for name, tensor in weights.items()}
    for name in sorted(wanted.keys() | found.keys()):
        if wanted.get(name) != found.get(name):
            raise OwareError(
                f"{source} does not hold a {preset!r} network: {printable(name)[:80]} is "
                f"{found.get(name, 'missing')} there, {wanted.get(name, 'unknown')} here"
            )
        fault = _fault_of(weights[name])
        if fault:
            raise OwareError(f"{source} does not hold a {preset!r} network: {name} {fault}")
    network.load_state_dict(weights)
    return network.eval()


def _fault_of(tensor: Tensor) -> str:
    """Why a tensor cannot be weights, in words; nothing when it can."""
    if tensor.dtype != torch.float32:
        return f"is {str(tensor.dtype).removeprefix('torch.')} there, float32 here"
    if not torch.isfinite(tensor).all():
        return "holds a number that is not finite"
    return ""
