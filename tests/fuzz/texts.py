"""Texts that people write: positions, placements, moves, specs.

What is accepted must be what was written: in normal form it differs from the input only by spaces
around the text (positions, specs) or around the keys and values of a spec.
"""

import random
import re
from typing import Any

import numpy as np

from agents.roster import Spec, parse_spec
from oware_env.notation import NORTH_LETTERS, SOUTH_LETTERS, START, Placement
from oware_env.records import GameRecord
from oware_env.rules import Rules
from oware_env.state import State
from tests.fuzz.documents import Raw, hostile
from tests.fuzz.engine import mutate_text
from tests.fuzz.samples import Workplace

POSITIONS = (
    START,
    "4-4-4-4-4-4-4-4-4-4-4-4-0-0-N",
    "0-0-0-0-1-1-2-0-0-0-0-5-22-17-S",
    "1-0-0-0-0-0-0-1-0-0-0-0-24-22-N",
    "0-0-0-0-0-0-0-0-0-0-0-0-24-24-S",
    "10-0-0-12-0-0-0-1-0-0-0-0-25-0-S",
)
SPECS = (
    "random",
    "strategist",
    "alphabeta",
    "alphabeta:depth=8",
    "alphabeta:time=0.5,table=4",
    "alphabeta:depth=4,evaluation=material",
    "mcts:sims=200,reuse=yes,choice=visits",
    "mcts:time=0.125",
    "openspiel-mcts:sims=10,uct=1.5",
    "champion:sims=64",
    "runs/tiny:sims=2,table=10",
    "runs/tiny",
)
_SWITCHES = {
    True: ("true", "1", "yes", "on", "t", "y"),
    False: ("false", "0", "no", "off", "f", "n"),
}
_INTEGER = re.compile(r"-?[0-9]+", re.ASCII)
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?", re.ASCII)


def means(token: str, value: Any) -> bool:
    """Whether a token of plain ASCII says this value, and as a person would write it."""
    if isinstance(value, bool):
        return token.lower() in _SWITCHES[value]
    if isinstance(value, int):
        return bool(_NUMBER.fullmatch(token)) and (
            int(token) == value if _INTEGER.fullmatch(token) else float(token) == value
        )
    if isinstance(value, float):
        return bool(_NUMBER.fullmatch(token)) and float(token) == value
    return token == value


class Positions:
    """Position strings: accepted, the text without spaces around it is the state's own."""

    name, count = "positions", 300_000

    def __init__(self, workplace: Workplace) -> None: ...

    def make(self, draw: random.Random) -> str:
        return mutate_text(draw, POSITIONS)

    def read(self, given: str) -> State:
        return State.parse(given)

    def changed(self, given: str, value: State) -> str | None:
        text = value.to_text()
        if State.parse(text) != value:
            return f"not read back: written as {text}"
        return None if given.strip() == text else f"read otherwise: as {text}"


class Placements:
    """Counts in seats and boards from Python: accepted, the state holds just these."""

    name, count = "placements", 100_000

    def __init__(self, workplace: Workplace) -> None: ...

    def make(self, draw: random.Random) -> dict[str, Any]:
        state = State.parse(draw.choice(POSITIONS))
        given: dict[str, Any] = {
            "houses": list(state.houses),
            "stores": list(state.stores),
            "south": state.south_to_move,
            "ply": 0,
            "max_plies": 400,
        }
        for _ in range(draw.choice((1, 1, 2))):
            name = draw.choice(("houses", "houses", "stores", "south", "ply", "max_plies"))
            value, whole = _python_value(draw), draw.randrange(4) == 0
            if name in ("houses", "stores") and not whole:
                given[name][draw.randrange(len(given[name]))] = value
            elif name in ("houses", "stores") and isinstance(given[name], list):
                given[name] = draw.choice(
                    (value, given[name][1:], [*given[name], 0], tuple(given[name]))
                )
                break
            else:
                given[name] = value
        return given

    def read(self, given: dict[str, Any]) -> State:
        houses, stores = (_as_tuple(given[name]) for name in ("houses", "stores"))
        rules = Rules(max_plies=given["max_plies"])
        return State.from_placement(Placement(houses, stores, given["south"]), rules, given["ply"])

    def changed(self, given: dict[str, Any], value: State) -> str | None:
        counts = [*given["houses"], *given["stores"], given["ply"], value.rules.max_plies]
        if not all(
            isinstance(one, int | np.integer) and not isinstance(one, bool) for one in counts
        ):
            return f"what is no whole number is taken: as {value!r}"
        side = given["south"]
        if not isinstance(side, bool | np.bool_) or side != value.south_to_move:
            return f"a side that is no bool is taken: {side!r} as {value.to_text()[-1]}"
        same = (*given["houses"], *given["stores"]) == (*value.houses, *value.stores)
        return None if same and given["ply"] == value.ply else f"read otherwise: as {value!r}"


def _is_whole(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def _as_tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _python_value(draw: random.Random) -> Any:
    """A value that a caller might hand over, right or wrong."""
    if draw.randrange(3) == 0:
        value = hostile(draw)
        return str(value) if isinstance(value, Raw) else value
    return draw.choice(
        (
            np.int8(4),
            np.int64(-3),
            np.uint64(2**64 - 1),
            np.float32(4.0),
            np.float64(np.nan),
            np.array(3),
            np.array([4, 4]),
            np.array(["4"]),
            np.bool_(True),
            4.0,
            4.5,
            4 + 0j,
            3,
            5,
            b"4",
            "N",
            "S",
            (4,),
            object,
        )
    )


class Moves:
    """Moves of any kind, and runs of letters: accepted, it is the house that was named."""

    name, count = "moves", 120_000

    def __init__(self, workplace: Workplace) -> None:
        south = State.parse(POSITIONS[0])
        self._states = (south, south.play(2), State.parse(POSITIONS[2]))

    def make(self, draw: random.Random) -> tuple[int, Any]:
        which = draw.randrange(4)
        if which == 3:
            return which, mutate_text(draw, ("FfEcCc", "DdEfAaBb", "A"))
        kind = draw.randrange(3)
        if kind == 0:
            return which, _python_value(draw)
        if kind == 1:
            return which, draw.choice((*range(-2, 8), np.int64(draw.randrange(-1, 7))))
        return which, mutate_text(draw, (*SOUTH_LETTERS, *NORTH_LETTERS, "C+2", "2"))

    def read(self, given: tuple[int, Any]) -> Any:
        which, move = given
        if which == 3:
            return GameRecord.from_moves(move)
        return self._states[which].play(move)

    def changed(self, given: tuple[int, Any], value: Any) -> str | None:
        which, move = given
        if which == 3:
            letters = "".join("ABCDEFabcdef"[m + 6 * (k % 2)] for k, m in enumerate(value.moves))
            return None if letters == move else f"read otherwise: as {letters}"
        before = self._states[which]
        if isinstance(move, str):
            letters = SOUTH_LETTERS if before.south_to_move else NORTH_LETTERS
            expected = letters.find(move) if len(move) == 1 else -1
        elif isinstance(move, int | np.integer) and not isinstance(move, bool):
            expected = int(move)
        else:
            return f"what is no move was played: {move!r}"
        played = [one for one in before.legal_moves if before.play(one) == value]
        return None if expected in played else f"another move was played: {played}"


class Specs:
    """Specs of agents: accepted, every key=value is there with its meaning, and only once."""

    name, count = "specs", 150_000

    def __init__(self, workplace: Workplace) -> None: ...

    def make(self, draw: random.Random) -> str:
        return mutate_text(draw, SPECS)

    def read(self, given: str) -> Spec:
        return parse_spec(given)

    def changed(self, given: str, value: Spec) -> str | None:
        again = parse_spec(str(value))
        if again != value or str(again) != str(value):
            return f"not read back: {value} in normal form"
        text = given.strip()
        rest = text.removeprefix(value.name)
        if text != value.name + rest or (rest and rest[0] != ":"):
            return f"another name: {value.name!r}"
        for part in rest[1:].split(",") if rest else []:
            key, _, token = (piece.strip(" ") for piece in part.partition("="))
            if key not in value.values or not means(token.strip(" "), value.values[key]):
                return f"another value: {part!r} is read as {value.values.get(key)!r}"
        return None
