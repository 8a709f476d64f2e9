"""Checkpoints: a folder of safetensors files and one state.json that says what they are.

Written to a temporary folder, flushed to disk and renamed, so a folder that exists is complete;
the digest of every file, state.json included, stands in state.json, so a damaged one is noticed.
Never pickle.
"""

import hashlib
import json
import os
import shutil
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor

from agents.neural.network import PRESETS, Network
from oware_env.encoding import ENCODING_VERSION
from oware_env.errors import OwareError
from oware_env.rules import Rules, describe_rules

FORMAT = 1
STATE = "state.json"
CHECKPOINTS = "checkpoints"  # folder of a run that holds them


def write_checkpoint(
    folder: Path, tensors: dict[str, dict[str, Tensor]], state: dict[str, Any]
) -> None:
    """Write ``tensors`` (file stem to named tensors) and ``state`` as one complete folder.

    Raises OwareError, with what was there before untouched, when the disk does not take it.
    """
    temporary = folder.with_name(f".{folder.name}.{os.getpid()}.part")
    try:
        shutil.rmtree(temporary, ignore_errors=True)
        temporary.mkdir(parents=True)
        digests = {}
        for stem, named in tensors.items():
            content = save({name: tensor.contiguous() for name, tensor in named.items()})
            digests[stem] = hashlib.sha256(content).hexdigest()
            _write_flushed(temporary / f"{stem}.safetensors", content)
        document = {"format": FORMAT, "encoding": ENCODING_VERSION, **state, "files": digests}
        document["digest"] = _digest(document)
        _write_flushed(temporary / STATE, json.dumps(document, indent=2).encode())
        _flush_folder(temporary)
        _put_in_place(temporary, folder)
        _flush_folder(folder.parent)
    except OSError as error:
        shutil.rmtree(temporary, ignore_errors=True)
        raise OwareError(
            f"the checkpoint {folder} could not be written: {error.strerror or error}; "
            "earlier checkpoints are as they were"
        ) from None


def _write_flushed(path: Path, content: bytes) -> None:
    with path.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _put_in_place(temporary: Path, folder: Path) -> None:
    """Rename to ``folder``; one of that name is moved aside first and deleted last."""
    aside = folder.with_name(f"{temporary.stem}.old.part")
    shutil.rmtree(aside, ignore_errors=True)
    if folder.exists():
        folder.rename(aside)
    temporary.rename(folder)
    shutil.rmtree(aside, ignore_errors=True)


def _digest(document: dict[str, Any]) -> str:
    """Digest of a state.json but for the digest itself; its spacing and order do not count."""
    content = json.loads(json.dumps(document))  # as it is read back: all keys are text
    content.pop("digest", None)
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _flush_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def newest_checkpoint(path: Path) -> Path:
    """``path`` when it is a checkpoint folder, else the newest checkpoint of a run folder."""
    if (path / STATE).is_file():
        return path
    if not path.is_dir():
        raise OwareError(f"there is no run or checkpoint folder {path}")
    found = [folder for folder in (path / CHECKPOINTS).glob("step-*") if (folder / STATE).is_file()]
    if not found:
        raise OwareError(f"{path} holds no checkpoint: it is not the folder of a run")
    return max(found, key=lambda folder: folder.name)


def read_state(folder: Path) -> dict[str, Any]:
    """The state.json of a checkpoint folder; raises OwareError when it is none."""
    try:
        state = json.loads((folder / STATE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise OwareError(f"{folder} is not a checkpoint: it holds no readable {STATE}") from None
    if not isinstance(state, dict) or "files" not in state:
        raise OwareError(f"{folder} is not a checkpoint: its {STATE} lists no files")
    for name, ours in (("format", FORMAT), ("encoding", ENCODING_VERSION)):
        if state.get(name) != ours:
            raise OwareError(
                f"checkpoint {folder} has {name} {state.get(name)}, this program reads {ours}: "
                "another version wrote it"
            )
    if state.get("digest") != _digest(state):
        raise OwareError(f"{folder / STATE} is damaged: it is not what the checkpoint wrote")
    return state


def read_tensors(folder: Path, stem: str) -> dict[str, Tensor]:
    """The tensors of one file of a checkpoint; raises OwareError when it is damaged."""
    path = folder / f"{stem}.safetensors"
    expected = read_state(folder)["files"].get(stem)
    try:
        content = path.read_bytes()
        if hashlib.sha256(content).hexdigest() != expected:
            raise OwareError(f"{path} is damaged: it is not what the checkpoint wrote")
        return load(content)
    except (OSError, SafetensorError) as error:
        raise OwareError(f"{path} cannot be read: {error}") from None


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
            f"note: {folder} was trained with at most {made.max_plies} plies a game "
            f"and now plays with {rules.max_plies}"
        )


_NOTICED: set[tuple[Path, Rules]] = set()


def load_network(folder: Path, rules: Rules = Rules(), stem: str = "ema") -> Network:
    """The network of a checkpoint (its averaged weights), ready to play under ``rules``."""
    state = read_state(folder)
    check_rules(state, rules, folder)
    return network_from(read_tensors(folder, stem), state["network"], str(folder))


def network_from(weights: dict[str, Tensor], preset: str, source: str) -> Network:
    """A network of a preset with these weights; OwareError names both sides when they differ."""
    if preset not in PRESETS:
        raise OwareError(f"{source} holds a network {preset!r}, not one of {', '.join(PRESETS)}")
    network = Network(*PRESETS[preset])
    wanted = {name: tuple(tensor.shape) for name, tensor in network.state_dict().items()}
    found = {name: tuple(tensor.shape) for name, tensor in weights.items()}
    for name in sorted(wanted.keys() | found.keys()):
        if wanted.get(name) != found.get(name):
            raise OwareError(
                f"{source} does not hold a {preset!r} network: {name} is "
                f"{found.get(name, 'missing')} there, {wanted.get(name, 'unknown')} here"
            )
    network.load_state_dict(weights)
    return network.eval()
