"""Files of arrays: games in NPZ, tables of endgames, the rows of a run.

Changed bytes: accepted only when what is read is what was written. Hostile arrays in a right frame:
accepted only as they stand in the file, and what is done with them afterwards raises nothing.
"""

import hashlib
import io
import json
import random
from typing import Any

import numpy as np

from agents.tablebase.files import read_contents
from agents.tablebase.index import count_boards, fill_board, level_starts
from agents.tablebase.probe import Tablebase
from oware_env.positions import Positions
from oware_env.records import GameArrays, load_arrays, load_games
from tests.fuzz.documents import json_text, mutate_document
from tests.fuzz.engine import mutate_bytes
from tests.fuzz.hostile_arrays import change_array, packed_arrays
from tests.fuzz.samples import TABLE_SEEDS, Workplace
from train.games import GAME
from train.shards import Shards

_ZEROS = b"0" * 64


def same_arrays(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Whether two sets of arrays are equal, type and shape included."""
    return one.keys() == other.keys() and all(
        one[name].dtype == other[name].dtype
        and one[name].shape == other[name].shape
        and one[name].tobytes() == other[name].tobytes()
        for name in one
    )


def _columns(games: GameArrays) -> dict[str, Any]:
    return {name: np.asarray(array) for name, array in zip(games._fields, games[:5], strict=False)}


class GameFiles:
    """NPZ files of games, changed in their bytes or rebuilt with hostile arrays and metadata."""

    name, count = "games-npz", 10_000

    def __init__(self, workplace: Workplace) -> None:
        self._path = workplace.scratch(self.name) / "games.npz"
        self._content = workplace.games.read_bytes()
        self._games = load_arrays(workplace.games)[0]
        with np.load(workplace.games) as archive:
            self._arrays = dict(archive)
        self._about = json.loads(self._arrays.pop("metadata").tobytes())

    def make(self, draw: random.Random) -> bytes:
        if draw.randrange(2):
            return mutate_bytes(draw, self._content, self._content)
        arrays, about = dict(self._arrays), self._about
        for _ in range(draw.choice((1, 1, 2))):
            if draw.randrange(3) == 0:
                about = mutate_document(draw, about)
            else:
                name = draw.choice(list(arrays))
                arrays[name] = change_array(draw, arrays[name])
        if draw.randrange(20) == 0:
            del arrays[draw.choice(list(arrays))]
        text = json_text(about).encode("utf-8", "surrogatepass")
        arrays["metadata"] = np.frombuffer(text, np.uint8)
        packed = io.BytesIO()
        np.savez(packed, allow_pickle=False, **arrays)
        return packed.getvalue()

    def read(self, given: bytes) -> GameArrays:
        self._path.write_bytes(given)
        games, _ = load_arrays(self._path)
        records = load_games(self._path)
        assert len(records) == len(games.boards)
        return games

    def changed(self, given: bytes, value: GameArrays) -> str | None:
        found, ours = _columns(value), _columns(self._games)
        if same_arrays(found, ours) and value[5:] == self._games[5:]:
            return None
        with np.load(self._path) as archive:
            held = {name: archive[name] for name in found}
            about = json.loads(archive["metadata"].tobytes())
        for name, array in held.items():
            if not np.array_equal(array, found[name]):
                return f"an array is read otherwise: {name}"
        if value.rules._asdict() != about["rules"] or list(value.tags) != about["tags"]:
            return f"rules or tags are read otherwise: {value.rules} {value.tags}"
        fields = [type(one) for one in value.rules]
        return None if fields == [int] * 5 else f"rules that are no numbers: {value.rules}"


def packed_table(
    draw: random.Random, arrays: dict[str, np.ndarray], facts: dict[str, Any]
) -> bytes:
    """The bytes of a table file with these contents and the right digest."""
    text = json_text({**facts, "digest": _ZEROS.decode()})
    content = packed_arrays(draw, arrays, {"facts": text})
    return content.replace(_ZEROS, hashlib.sha256(content).hexdigest().encode(), 1)


class Tables:
    """Tables of endgames, changed in their bytes or rebuilt with hostile arrays and facts."""

    name, count = "tables", 10_000

    def __init__(self, workplace: Workplace) -> None:
        self._path = workplace.scratch(self.name) / workplace.table.name
        self._content = workplace.table.read_bytes()
        contents = read_contents(workplace.table)
        self._arrays = {name: np.array(array) for name, array in contents.arrays.items()}
        self._facts = {key: one for key, one in contents.facts.items() if key != "digest"}
        boards = np.zeros((count_boards(TABLE_SEEDS) + 1, 14), np.int8)
        starts = level_starts(TABLE_SEEDS)
        for seeds in range(TABLE_SEEDS + 1):
            for index in range(starts[seeds], starts[seeds + 1]):
                fill_board(index, seeds, boards[index])
        boards[-1, :12] = 4
        keys = np.zeros(len(boards), np.uint64)
        self._positions = [
            Positions(boards, np.full(len(boards), ply, np.int32), keys) for ply in (0, 3, 15, 29)
        ]

    def make(self, draw: random.Random) -> bytes:
        if draw.randrange(2):
            return mutate_bytes(draw, self._content, self._content)
        arrays, facts = dict(self._arrays), self._facts
        for _ in range(draw.choice((1, 1, 2))):
            if draw.randrange(2):
                facts = mutate_document(draw, facts, 1)
            else:
                name = draw.choice(list(arrays))
                arrays[name] = change_array(draw, arrays[name])
        if draw.randrange(20) == 0:
            name = draw.choice(list(arrays))
            arrays[f"x{name}"] = arrays.pop(name)
        return packed_table(draw, arrays, facts)

    def read(self, given: bytes) -> Tablebase:
        self._path.write_bytes(given)
        table = Tablebase(self._path)
        for positions in self._positions:
            table.bounds(positions, 30)
            table.move_bounds(positions, 30)
        for seeds in range(table.seeds + 1):
            table.level_bounds(seeds)
        return table

    def changed(self, given: bytes, value: Tablebase) -> str | None:
        contents = read_contents(self._path)
        found = {name: getattr(value.arrays, name) for name in self._arrays}
        facts = {key: one for key, one in contents.facts.items() if key != "digest"}
        if same_arrays(found, self._arrays) and facts == self._facts:
            return None
        numbers = [value.seeds, value.exact_seeds, value.first, value.last, *value.rules]
        if not all(type(number) is int for number in numbers):
            return f"facts that are no numbers: {numbers}"
        for name, array in found.items():
            if array.dtype != self._arrays[name].dtype:
                return f"an array of another type: {name} {array.dtype}"
        is_forged = given.startswith(self._content[:8]) and self._digest(given) == self._digest(
            self._content
        )
        return "changed bytes are taken: " if is_forged else None

    @staticmethod
    def _digest(content: bytes) -> bytes:
        """The digest that a file states."""
        return content.partition(b'\\"digest\\": \\"')[2][:64]


class Rows:
    """The files of a run's games: bytes lost, changed or added, and a state that says otherwise."""

    name, count = "rows", 40_000

    def __init__(self, workplace: Workplace) -> None:
        self._folder = workplace.scratch(self.name)
        kept = Shards(self._folder, GAME, rows_per_file=4)
        self._rows = np.zeros(6, GAME)
        self._rows["first"], self._rows["moves"] = np.arange(6) * 30, 30
        kept.append(self._rows)
        self._state = json.loads(json.dumps(kept.state()))
        kept.close()
        self._files = {path: path.read_bytes() for path in sorted(self._folder.iterdir())}

    def make(self, draw: random.Random) -> tuple[dict[str, Any], dict[str, bytes | None]]:
        state, files = self._state, {}
        if draw.randrange(4) == 0:
            state = mutate_document(draw, state, 2)
        else:
            path = draw.choice(list(self._files))
            changed = mutate_bytes(draw, self._files[path], self._files[path])
            files[path.name] = None if draw.randrange(30) == 0 else changed
        if draw.randrange(10) == 0:
            files[draw.choice(("abc.rows", "000002.rows", "-1.rows", "٣.rows"))] = b"foreign"
        return state, files

    def read(self, given: tuple[dict[str, Any], dict[str, bytes | None]]) -> np.ndarray:
        state, files = given
        for path in self._folder.iterdir():
            path.unlink()
        everything = {path.name: content for path, content in self._files.items()} | files
        for name, content in everything.items():
            if content is not None:
                (self._folder / name).write_bytes(content)
        shards = Shards(self._folder, GAME, rows_per_file=4)
        try:
            shards.look_at(state)
            looked = shards.read(shards.first, shards.rows)
            shards.restore(state)
            restored = shards.read(shards.first, shards.rows)
            shards.append(self._rows[:1])
            shards.drop_before(shards.rows)
        finally:
            shards.close()
        assert looked.tobytes() == restored.tobytes()
        return looked

    def changed(self, given: tuple[dict[str, Any], Any], value: np.ndarray) -> str | None:
        first = given[0]["first"]
        expected = self._rows[first : first + len(value)]
        same = value.tobytes() == expected.tobytes()
        return None if same else f"other rows are read: {value.tolist()}"
