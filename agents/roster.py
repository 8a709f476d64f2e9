"""The roster: from spec text such as ``"alphabeta:depth=8"`` to an agent, by one literal table.

A spec is ``name`` or ``name:key=value,...``; a name that is a path (``runs/NAME``) is a trained
network. A path may hold colons: one that exists as a whole is a path, else what follows its last
colon is parameters when it looks like them. Builders import what they need when they are called, so
the roster itself stays light.
"""

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from agents.base import Agent
from agents.settings import nearest
from oware_env.errors import OwareError, shown
from oware_env.files import has_controls, is_folder
from oware_env.rules import Rules, require_abapa

if TYPE_CHECKING:
    from agents.search.match_play import MatchPlay
    from agents.tablebase.probe import TableArrays


_LONGEST = 4096  # characters of a spec: no system takes longer paths
_WHOLE = re.compile(r"0|[1-9][0-9]{0,18}")  # as a number is written here: in plain digits
_NUMBER = re.compile(r"((0|[1-9][0-9]{0,18})(\.[0-9]*)?|\.[0-9]+)", re.ASCII)


class Parameter(NamedTuple):
    """A parameter of a spec: what it may be, and what it is when left out (None: not set)."""

    kind: type  # int, float or str
    default: int | float | str | None
    meaning: str
    low: float = 0.0  # inclusive bounds of numbers
    high: float = 0.0
    choices: tuple[str, ...] = ()


class Build(NamedTuple):
    """What a builder gets."""

    name: str  # first part of the spec
    values: dict[str, Any]  # every parameter of the entry, checked
    rules: Rules
    device: str


class Entry(NamedTuple):
    """An agent that can be asked for."""

    build: Callable[[Build], Agent]
    idea: str
    parameters: dict[str, Parameter]


class Spec(NamedTuple):
    """A spec, read and checked. ``str()`` gives its normal form."""

    name: str
    values: dict[str, Any]

    def __str__(self) -> str:
        return _text(self.name, self)


def _text(name: str, spec: Spec) -> str:
    """A spec in normal form, under another name."""
    parameters = _entry(spec.name).parameters
    shown = [
        f"{key}={_digits(value)}" if isinstance(value, float) else f"{key}={value}"
        for key, value in spec.values.items()
        # Numbers say how strong an agent is, so they always show; usual words do not.
        if value is not None and (parameters[key].kind is not str or value != _usual(spec, key))
    ]
    return f"{name}:{','.join(shown)}" if shown else name


def _digits(number: float) -> str:
    """The fewest digits that read back as this very number, without an exponent."""
    return np.format_float_positional(number, trim="-")


def _scripted(build: Build) -> Agent:
    from agents.scripted import Scripted

    return Scripted(build.name, build.rules)


def _alphabeta(build: Build) -> Agent:
    from agents.search.alphabeta import AlphaBeta

    return AlphaBeta(build.rules, **(build.values | {"table": _table(build)}))


def _mcts(build: Build) -> Agent:
    from agents.search.match_play import match_player
    from agents.search.rollout import RolloutEvaluator

    evaluator, play = RolloutEvaluator(build.rules), _match_play(build)
    assert play is not None  # the spec has a limit
    return match_player(evaluator, build.rules, play, table=_table(build))


def _openspiel_mcts(build: Build) -> Agent:
    from agents.openspiel import OpenSpielMcts

    return OpenSpielMcts(build.rules, **build.values)


def _neural(build: Build) -> Agent:
    from agents.trained import load_agent

    folder, play, table = network_folder(build.name), _match_play(build), _table(build)
    assert folder is not None  # no other entry has this builder
    return load_agent(folder, build.rules, device=build.device, play=play, table=table)


def _match_play(build: Build) -> "MatchPlay | None":
    """How a tree search is to play; None where the spec gives it no limit."""
    from agents.search.match_play import MatchPlay

    values = build.values
    if values["sims"] is None and values["time"] is None:
        return None
    return MatchPlay(values["sims"], values["time"], values["reuse"] == "yes", values["choice"])


def _table(build: Build) -> "TableArrays | None":
    """The arrays of the endgame table that the spec asks for."""
    from agents.tablebase.probe import open_table

    seeds = build.values["table"]
    return None if seeds is None else open_table(seeds).arrays


TABLE = Parameter(int, None, "endgame table of so many seeds that the search looks into", 1, 24)
SIMULATIONS = Parameter(int, None, "simulations a move; without it the policy alone", 1, 1_000_000)
TIME = Parameter(float, None, "seconds a move, instead of a depth", 0.001, 86_400)
MATCH_PLAY = {  # of tree searches
    "sims": SIMULATIONS,
    "time": TIME._replace(meaning="seconds a move, instead of simulations"),
    "reuse": Parameter(str, "no", "yes keeps the tree from move to move", choices=("no", "yes")),
    "choice": Parameter(
        str, "lcb", "plays the best lower bound, lcb, or the most visits", choices=("lcb", "visits")
    ),
}
NETWORK = MATCH_PLAY | {"table": TABLE}  # of trained networks

CHAMPION = Path(__file__).with_name("champion")  # how it was made: docs/champion.md

ROSTER: dict[str, Entry] = {
    "random": Entry(_scripted, "a legal move at random", {}),
    "greedy": Entry(_scripted, "the largest capture", {}),
    "careful": Entry(_scripted, "the largest capture minus the best reply", {}),
    "fortress": Entry(_scripted, "thickens its thin houses", {}),
    "hoarder": Entry(_scripted, "raises a big house and spends it on a chain", {}),
    "feeder": Entry(_scripted, "plans the feeding duty", {}),
    "strategist": Entry(_scripted, "all these ideas, weighted", {}),
    "alphabeta": Entry(
        _alphabeta,
        "exhaustive search to a depth, or for a time a move",
        {
            "depth": Parameter(int, None, "plies it looks ahead; 6 when no time is given", 1, 60),
            "time": TIME,
            "evaluation": Parameter(str, "full", "full or material", choices=("full", "material")),
            "table": TABLE,
        },
    ),
    "mcts": Entry(
        _mcts,
        "tree search with random rollouts",
        MATCH_PLAY
        | {
            "sims": SIMULATIONS._replace(meaning="simulations a move; 200 without a time"),
            "table": TABLE,
        },
    ),
    "openspiel-mcts": Entry(
        _openspiel_mcts,
        "the tree search of OpenSpiel, in its own Python; needs open_spiel",
        {
            "sims": SIMULATIONS._replace(default=1000, meaning="simulations a move", low=2),
            "uct": Parameter(float, None, "exploration; 2 when left out", 0, 1000),
        },
    ),
    "champion": Entry(_neural, "the network that ships with this: an hour on two cores", NETWORK),
}

USUAL_LIMITS = {"alphabeta": ("depth", 6), "mcts": ("sims", 200)}  # when no time is given

NEURAL = Entry(_neural, "a trained network: a run or checkpoint folder", NETWORK)


def make(spec: str, rules: Rules = Rules(), device: str = "cpu") -> Agent:
    """The agent that ``spec`` names; its ``name`` is the spec in normal form.

    Raises :class:`OwareError` that names the part that is wrong and the nearest valid one.
    """
    parsed = parse_spec(spec)
    build = Build(parsed.name, parsed.values, require_abapa(rules), device)
    agent = _entry(parsed.name).build(build)
    agent.name = str(parsed)
    return agent


def parse_spec(spec: str) -> Spec:
    """Read and check a spec without making its agent; raises :class:`OwareError`."""
    if not isinstance(spec, str) or not spec.strip():
        raise OwareError(f"an agent spec is text such as 'alphabeta:depth=8', not {shown(spec)}")
    if len(spec) > _LONGEST:
        raise OwareError(f"an agent spec has at most {_LONGEST:,} characters, not {len(spec):,}")
    name, rest = _split(spec.strip())
    if has_controls(name):
        raise OwareError(f"an agent's name holds no control characters, as {name!r} does")
    entry = _entry(name)
    values = {key: parameter.default for key, parameter in entry.parameters.items()}
    given = set()
    for part in [] if rest is None else rest.split(","):
        key, equals, text = part.partition("=")
        key = key.strip(" ")
        if not equals:
            raise OwareError(f"agent {spec!r}: write parameters as key=value, not {part.strip()!r}")
        if key not in entry.parameters:
            known = nearest(key, entry.parameters) if entry.parameters else "; it takes none"
            raise OwareError(f"agent {spec!r}: {name} has no parameter {key!r}{known}")
        if key in given:
            raise OwareError(f"agent {spec!r}: {key} is given twice")
        given.add(key)
        values[key] = _read_value(spec, key, text, entry.parameters[key])
    _settle_limits(spec, name, values, given)
    found = Spec(name, values)
    if given and name not in ROSTER and is_folder(str(found)):
        raise OwareError(f"agent {spec!r}: {str(found)!r} is the name of a folder as well")
    return found


def _split(spec: str) -> tuple[str, str | None]:
    """The name of a spec and its parameters; None where it has no place for any."""
    name, colon, rest = spec.partition(":")
    if not colon:
        return spec, None
    if name in ROSTER:
        return name, rest
    if is_folder(spec):
        return spec, None
    name, _, rest = spec.rpartition(":")
    if re.match(r"\s*\w+\s*=", rest) or is_folder(name):
        return name, rest
    return spec, None


def _settle_limits(spec: str, name: str, values: dict[str, Any], given: set[str]) -> None:
    """Refuse two limits of a search and settings without one; set the usual one where it is due."""
    for limit in ("depth", "sims"):
        if {limit, "time"} <= given:
            raise OwareError(f"agent {spec!r}: give either {limit} or time, not both")
    if network_folder(name) and values["sims"] is None and values["time"] is None:
        for key in ("table", "reuse", "choice"):
            if key in given:
                raise OwareError(
                    f"agent {spec!r}: {key} is for a search: give sims or time as well"
                )
    if name in USUAL_LIMITS and values["time"] is None:
        limit, usual = USUAL_LIMITS[name]
        values[limit] = usual if values[limit] is None else values[limit]


def identity(spec: Spec | str) -> str:
    """What decides the games of an agent, whatever its folder is called.

    A network is ``network-`` and the first half of the digest of the weights that play, in hex,
    then its parameters: ``network-3fa9d0c2b1e45f67:sims=64``; any other agent is its spec in normal
    form. Raises OwareError when a folder is no run.
    """
    parsed = parse_spec(spec) if isinstance(spec, str) else spec
    folder = network_folder(parsed.name)
    if folder is None:
        return str(parsed)
    from agents.neural.checkpoint import newest_checkpoint, read_state

    state = read_state(newest_checkpoint(folder))
    if "ema" not in state["files"]:
        raise OwareError(f"{state.path} lists no file 'ema': it holds no agent")
    return _text(f"network-{state['files']['ema'][:16]}", parsed)


def describe_roster() -> str:
    """Every agent with its idea, and its parameters below it, for help texts."""
    lines = []
    for name, entry in (*ROSTER.items(), ("runs/NAME", NEURAL)):
        lines.append(f"  {name:<16}{entry.idea}")
        lines += [f"      {key}: {what.meaning}" for key, what in entry.parameters.items()]
    return "\n".join(lines)


def is_path(name: str) -> bool:
    """Whether the first part of a spec is a folder rather than a name of the roster."""
    return name not in ROSTER and (bool(re.search(r"[/\\]", name)) or is_folder(name))


def network_folder(name: str) -> Path | None:
    """The run or checkpoint folder of an agent by the first part of its spec; None for others."""
    if name == "champion":
        return CHAMPION
    return Path(name) if is_path(name) else None


def _entry(name: str) -> Entry:
    """The roster's entry for the first part of a spec."""
    if name in ROSTER:
        return ROSTER[name]
    if is_path(name):
        return NEURAL
    raise OwareError(f"unknown agent {name!r}{nearest(name, [*ROSTER, 'runs/NAME'])}")


def _usual(spec: Spec, key: str) -> Any:
    return _entry(spec.name).parameters[key].default


def _read_value(spec: str, key: str, text: str, parameter: Parameter) -> int | float | str:
    """One value of a spec, of its declared type and in range."""
    if parameter.kind is str:
        if text not in parameter.choices:
            raise OwareError(
                f"agent {spec!r}: {key} must be one of {', '.join(parameter.choices)}, not {text!r}"
            )
        return text
    what, shape = ("a whole number", _WHOLE) if parameter.kind is int else ("a number", _NUMBER)
    value = parameter.kind(text) if shape.fullmatch(text) else parameter.high + 1
    if not parameter.low <= value <= parameter.high:
        low, high = parameter.low, parameter.high
        raise OwareError(
            f"agent {spec!r}: {key} must be {what} from {low:,} to {high:,}, not {text!r}"
        )
    return parameter.kind(value)
