"""Checkpoints: changed in their bytes, or with a right digest and hostile contents.

Changed bytes: accepted only when weights and state are those that were written. Hostile contents:
accepted only when they are what a checkpoint holds (weights float32 and finite, rules whole
numbers), and the agent made of them plays.
"""

import hashlib
import json
import os
import random
import shutil
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load

from agents.neural.checkpoint import STATE, newest_checkpoint, read_state, read_tensors
from agents.trained import load_agent
from oware_env.files import DIGEST, digest_of
from oware_env.positions import Positions
from oware_env.rules import Rules, initial_board
from tests.fuzz.documents import Raw, json_text, mutate_document
from tests.fuzz.engine import mutate_bytes
from tests.fuzz.hostile_arrays import change_array, packed_arrays
from tests.fuzz.samples import TINY, Workplace

Files = dict[str, bytes | None]  # by name: content, None for one that is gone


class CheckpointMaker:
    """Makes hostile checkpoints of a whole one."""

    def __init__(self, folder: Path) -> None:
        self.files = {path.name: path.read_bytes() for path in sorted(folder.iterdir())}
        self.state = json.loads(self.files[STATE])
        self.tensors = {
            name.partition(".")[0]: load(content)
            for name, content in self.files.items()
            if name != STATE
        }

    def changed_bytes(self, draw: random.Random, names: tuple[str, ...]) -> Files:
        """One file with changed bytes, or gone."""
        name = draw.choice(names)
        if draw.randrange(40) == 0:
            return {name: None}
        return {name: mutate_bytes(draw, self.files[name], self.files[STATE])}

    def resealed(self, draw: random.Random, stems: tuple[str, ...]) -> Files:
        """Another state or other tensors, with the digests that belong to them."""
        state, files = self.state, Files()
        if draw.randrange(2):
            state = mutate_document(draw, state, 2)
        else:
            stem = draw.choice(stems)
            content = self._hostile_tensors(draw, stem)
            files[f"{stem}.safetensors"] = content
            digests = state["files"] | {stem: hashlib.sha256(content).hexdigest()}
            state = state | {"files": digests}
        files[STATE] = sealed_text(state)
        return files

    def _hostile_tensors(self, draw: random.Random, stem: str) -> bytes:
        tensors = dict(self.tensors[stem])
        for _ in range(draw.choice((1, 1, 2))):
            name = draw.choice(list(tensors))
            match draw.randrange(8):
                case 0:
                    del tensors[name]
                case 1:
                    tensors[f"{name}x"] = tensors.pop(name)
                case 2:
                    tensors[name] = tensors[draw.choice(list(tensors))]
                case _:
                    tensors[name] = change_array(draw, tensors[name])
            if not tensors:
                break
        return packed_arrays(draw, tensors)


def sealed_text(document: Any) -> bytes:
    """A document as JSON with its digest, as far as what is hostile in it has one."""
    if isinstance(document, dict):
        text = json_text({key: one for key, one in document.items() if key != DIGEST})
        try:
            document = document | {DIGEST: digest_of(json.loads(text))}
        except (ValueError, RecursionError):
            document = document | {DIGEST: Raw('"0"')}
    return json_text(document).encode("utf-8", "surrogatepass")


def put(folder: Path, whole: Path, files: Files) -> None:
    """Make ``folder`` the checkpoint ``whole`` but for some files."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for path in whole.iterdir():
        if path.name not in files:
            os.link(path, folder / path.name)
    for name, content in files.items():
        if content is not None:
            (folder / name).write_bytes(content)


class Checkpoints:
    """Checkpoint folders as agents are made of them."""

    name, count = "checkpoints", 6_000

    def __init__(self, workplace: Workplace) -> None:
        self._whole = newest_checkpoint(workplace.run)
        self._folder = workplace.scratch(self.name) / self._whole.name
        self._maker = CheckpointMaker(self._whole)
        self._rules = Rules(max_plies=TINY["max_plies"])
        board = initial_board()
        keys = np.arange(2, dtype=np.uint64)
        self._positions = Positions(np.stack((board, board)), np.array([0, 3], np.int32), keys)
        self.read({})

    def make(self, draw: random.Random) -> Files:
        if draw.randrange(3) == 0:
            return self._maker.changed_bytes(draw, (STATE, "ema.safetensors"))
        return self._maker.resealed(draw, ("ema",))

    def read(self, given: Files) -> Any:
        put(self._folder, self._whole, given)
        agent = load_agent(self._folder, self._rules)
        return agent.decide(self._positions)

    def changed(self, given: Files, value: Any) -> str | None:
        state = read_state(self._folder)
        weights = read_tensors(self._folder, "ema")
        ours = self._maker.tensors["ema"]
        found = {name: tensor.detach().numpy() for name, tensor in weights.items()}
        if not all(type(number) is int for number in state["rules"].values()):
            return f"rules that are no numbers: {state['rules']}"
        for name, array in found.items():
            if array.dtype != ours[name].dtype:
                return f"weights of another type: {name} {array.dtype}"
            if not np.isfinite(array).all():
                return f"weights that are no numbers: {name}"
        if not (np.isfinite(value.policy).all() and np.isfinite(value.value).all()):
            return f"no finite judgement: {value}"
        if STATE in given and self._is_resealed(given):
            return None
        same = all(np.array_equal(array, ours[name]) for name, array in found.items())
        return None if same and state == self._maker.state else "changed bytes are taken: "

    def _is_resealed(self, given: Files) -> bool:
        """Whether the state is another one with the digest that belongs to it."""
        document = json.loads(given[STATE] or b"{}")
        return isinstance(document, dict) and document.get(DIGEST) == digest_of(document)
