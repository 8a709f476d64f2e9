"""Run folders with something changed, lost or added, and every command that reads one.

Accepted only when the command says and writes what it does for the whole folder; after an edit with
right digests it must only end without a traceback. Resumed runs are read in full and not trained.
"""

import json
import os
import random
import shutil
from contextlib import chdir
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
from safetensors.numpy import load

from agents.arena import tournament
from agents.neural.checkpoint import STATE, newest_checkpoint
from oware_env.files import DIGEST
from tests.fuzz import commands
from tests.fuzz.checkpoints import CheckpointMaker
from tests.fuzz.documents import json_text, mutate_document
from tests.fuzz.engine import mutate_bytes
from tests.fuzz.samples import Workplace
from train.command import HARMLESS, train
from train.training import Training

ACTIONS = {
    "replay": ("replay", "tiny", "1"),
    "export": ("export", "tiny"),
    "release": ("release", "tiny", "shared"),
    "resume": ("--resume", "tiny"),
    "report": ("report", "tiny"),
}
_CHEAP = ("replay", "export", "release", "resume") * 10
_FOREIGN = (
    "replay/abc.rows",
    "replay/000007.rows",
    "games/moves/-1.rows",
    "checkpoints/step-x/state.json",
    "checkpoints/step-99999999/state.json",
    "checkpoints/.step-00000030.1.part/state.json",
    "results/a/table.json",
    "events/events.out.tfevents.1",
    "a\x1b[31m$x$",
)


class Broken(NamedTuple):
    """An input: what is done to the folder, and the command."""

    action: str
    files: dict[str, bytes | None]  # by path below the run: content, None for a file that is gone
    folders: tuple[str, ...] = ()  # files with a folder in their place
    is_resealed: bool = False  # the digests are right, only the contents are hostile


class RunFolders:
    """Run folders, and the commands that read them."""

    name, count = "run-folders", 3_000

    def __init__(self, workplace: Workplace, scratch: str = name) -> None:
        self._whole = workplace.run
        self._place = workplace.scratch(scratch)
        self._run = self._place / "runs" / "tiny"
        paths = [path for path in sorted(self._whole.rglob("*")) if path.is_file()]
        self._files = {str(path.relative_to(self._whole)): path.read_bytes() for path in paths}
        self._checkpoint = newest_checkpoint(self._whole)
        self._maker = CheckpointMaker(self._checkpoint)
        self._rate = commands.remembered(tournament.rate)
        self._expected = {action: self._outcome(Broken(action, {})) for action in ACTIONS}

    def make(self, draw: random.Random) -> Broken:
        action = "report" if draw.randrange(40) == 0 else draw.choice(_CHEAP)
        if draw.randrange(4) == 0:
            files = self._maker.resealed(draw, ("model", "ema", "optimiser", "in_flight"))
            folder = self._checkpoint.relative_to(self._whole)
            changed = {f"{folder}/{name}": content for name, content in files.items()}
            return Broken(action, changed, is_resealed=True)
        name = draw.choice(list(self._files))
        content = self._files[name]
        match draw.randrange(12):
            case 0:
                return Broken(action, {name: None})
            case 1:
                return Broken(action, {name: None}, (name,))
            case 2:
                return Broken(action, {name: b""})
            case 3:
                return Broken(action, {name: content + draw.randbytes(5)})
            case 4:
                return Broken(action, {draw.choice(_FOREIGN): content[:100]})
            case 5 | 6 | 7 if name.endswith((".json", ".jsonl")):
                return Broken(action, {name: self._other_document(draw, name)})
            case _:
                return Broken(action, {name: mutate_bytes(draw, content, content[:500])})

    def _other_document(self, draw: random.Random, name: str) -> bytes:
        """A JSON file that says something else, without the checksum that belongs to it."""
        lines = self._files[name].decode().splitlines() if name.endswith("l") else [""]
        if name.endswith("l"):
            place = draw.randrange(len(lines))
            lines[place] = json_text(mutate_document(draw, json.loads(lines[place])))
            return "".join(f"{line}\n" for line in lines).encode("utf-8", "surrogatepass")
        changed = mutate_document(draw, json.loads(self._files[name]))
        return json_text(changed).encode("utf-8", "surrogatepass")

    def read(self, given: Broken) -> Any:
        return self._outcome(given)

    def _outcome(self, given: Broken) -> Any:
        """What the command says and writes, in the folder as it is given."""
        self.build(given)
        state: dict[str, Any] = {}

        def read_only(training: Training) -> bool:
            """In the place of training: note what was read."""
            state.update(_state_of(training))
            return True

        with (
            chdir(self._place),
            patch.object(Training, "train", read_only),
            patch.object(tournament, "rate", self._rate),
        ):
            done = commands.run(train, ACTIONS[given.action])
        if given.action == "resume":
            return state
        if given.action == "export":
            return _arrays(self._run / "dataset.npz")
        if given.action == "release":
            return _released(self._place / "shared")
        return done.out

    def build(self, given: Broken) -> None:
        """Make the folder of an input."""
        shutil.rmtree(self._place)
        self._place.mkdir()
        for name, content in (self._files | given.files).items():
            path = self._run / name
            if content is None:
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            if name in self._files and name not in given.files and name.endswith("tensors"):
                os.link(self._whole / name, path)
            else:
                path.write_bytes(content)
        for name in given.folders:
            (self._run / name).mkdir(parents=True)

    def changed(self, given: Broken, value: Any) -> str | None:
        if given.is_resealed or _equal(value, self._expected[given.action]):
            return None
        return f"{given.action} gives something else: {list(given.files)}"


def _state_of(training: Training) -> dict[str, Any]:
    """What a resumed run goes on with, but for what may be changed at any time."""
    config = {
        f"{section}.{key}" if isinstance(one, dict) else section: value
        for section, one in training.config.model_dump().items()
        for key, value in (one.items() if isinstance(one, dict) else (("", one),))
    }
    tensors = {
        f"{stem}.{name}": tensor.detach().numpy()
        for stem, named in training.algorithm.learner.tensors().items()
        for name, tensor in named.items()
    }
    counts = (training.units, training.games, training.evaluations, training.checkpoints)
    units = [(unit.number, unit.weights) for unit in training.in_flight]
    firm = {key: one for key, one in config.items() if not key.startswith(HARMLESS)}
    return {"config": firm, "counts": counts, "in_flight": units, **tensors}


def _arrays(path: Path) -> dict[str, Any]:
    with np.load(path) as archive:
        arrays = dict(archive)
    about = json.loads(str(arrays.pop("about")))
    return {**arrays, "about": {key: about[key] for key in ("rules", "positions", "seed", "steps")}}


def _released(folder: Path) -> dict[str, Any]:
    state = json.loads((folder / STATE).read_text())
    told = {key: one for key, one in state.items() if key not in (DIGEST, "machine")}
    return {"state": told, **load((folder / "ema.safetensors").read_bytes())}


def _equal(one: Any, other: Any) -> bool:
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_equal(one[key], other[key]) for key in one)
    if isinstance(one, np.ndarray):
        same = (one.dtype, one.shape) == (other.dtype, other.shape)
        return same and one.tobytes() == other.tobytes()
    return bool(one == other)
