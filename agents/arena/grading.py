"""Grading agents by number of seeds: on boards drawn uniformly, and on those of their own games.

Seed counts beyond the table that a network was trained with are marked as held out.
"""

from typing import NamedTuple

import numpy as np

from agents.arena.match import play_match
from agents.arena.oracle import (
    Grade,
    Truth,
    game_positions,
    grade,
    join_positions,
    truth,
    uniform_positions,
)
from agents.base import Agent
from agents.roster import network_folder, parse_spec
from agents.tablebase.checks import MOST_SEEDS
from agents.tablebase.probe import Tablebase
from oware_env.errors import OwareError, whole_number
from oware_env.notation import move_letter
from oware_env.positions import Decisions, Positions
from oware_env.rules import Rules
from oware_env.state import State

UNIFORM, OWN = "uniform", "own games"
FEWEST_SEEDS = 3  # with fewer there is next to nothing to decide
DECISIONS = 2000  # distinct decision positions that an accuracy should rest on
MOST_TIMES = 20  # games, and uniform positions, are at most so many times what was asked for first
RANGES = (10, 14, 24)  # seeds at which a range ends that gets a row of its own
WORST = 10  # moves kept of each source


class Sample(NamedTuple):
    """How many positions to grade on."""

    uniform: int  # of each number of seeds, more while there are too few decisions
    games: int  # of the agent against itself, more while there are too few decisions
    seed: int = 0
    decisions: int = DECISIONS  # distinct decision positions wanted of each source


class Graded(NamedTuple):
    """One agent on one group of positions."""

    agent: str
    source: str  # UNIFORM or OWN
    seeds: str  # on the board: "all", "up to 10", "11-14" or one number
    held_out: bool | None  # more seeds than it was trained with tables of; None: not trained
    grade: Grade


class Worst(NamedTuple):
    """A move that gave many seeds away."""

    agent: str
    source: str
    position: str  # the mover shown as South
    ply: int
    move: str
    better: str  # the moves that give nothing away
    regret: int


class Examined(NamedTuple):
    """Positions of one source, and what the table proves of them."""

    source: str
    positions: Positions
    found: Truth
    games: int  # that they come from; 0 for uniform ones


class Report(NamedTuple):
    """All that was found of one agent."""

    agent: str
    trained_with: int | None  # seeds of the table it was trained with, 0 for none; None: no network
    games: int  # that it played against itself
    rows: list[Graded]
    worst: list[Worst]


def grade_agent(
    agent: Agent,
    table: Tablebase,
    sample: Sample,
    rules: Rules = Rules(),
    trained_with: int | None = None,
) -> Report:
    """Grade an agent by source and number of seeds, and find its ten worst moves of each source.

    ``trained_with`` is as in :class:`Report`; see :func:`training_table`. Raises OwareError when
    the number of games is not even and positive, or another one is no whole number.
    """
    for name, value in sample._asdict().items():
        whole_number(name, value)
    rows: list[Graded] = []
    worst: list[Worst] = []
    sources = examine_uniform(table, sample, rules), examine_games(agent, table, sample, rules)
    for examined in sources:
        positions, found = examined.positions, examined.found
        decisions = agent.decide(positions) if len(positions.plies) else _no_decisions()
        held = positions.boards[:, :12].sum(axis=1)
        for low, high in seed_groups(table.seeds, trained_with, np.unique(held).tolist()):
            chosen = ((low <= held) & (held <= high)).nonzero()[0]
            part = Truth(*(array[chosen] for array in found))
            one = grade(part, Decisions(*(array[chosen] for array in decisions)))
            held_out = None if trained_with is None else low > trained_with
            seeds = _label(low, high, table.seeds)
            rows.append(Graded(agent.name, examined.source, seeds, held_out, one))
        worst += _worst(agent.name, examined, decisions, rules)
    return Report(agent.name, trained_with, sources[1].games, rows, worst)


def training_table(spec: str) -> int | None:
    """Seeds of the endgame table that a spec's network was trained with, 0 when there was none.

    None for agents that are no trained network. Raises OwareError when the run cannot be read.
    """
    folder = network_folder(parse_spec(spec).name)
    if folder is None:
        return None
    from agents.neural.checkpoint import newest_checkpoint, read_state

    state = read_state(newest_checkpoint(folder))
    config = state.get("config", {})
    selfplay = config.get("selfplay", {})  # checkpoints from before there was a choice used none
    mode = selfplay.get("endgames", "none") if isinstance(selfplay, dict) else None
    if mode == "none" or config.get("algorithm") == "ppo":
        return 0
    seeds = selfplay.get("table") if isinstance(selfplay, dict) else None
    if type(seeds) is not int or not 1 <= seeds <= MOST_SEEDS:
        raise OwareError(f"{state.path}: config.selfplay.table names no table of 1 to {MOST_SEEDS}")
    return seeds


def seed_groups(most: int, trained_with: int | None, present: list[int]) -> list[tuple[int, int]]:
    """Numbers of seeds (from, to) to grade together, and last every one that is ``present``.

    All of them, those of RANGES, and each of these cut in two where training ended.
    """
    firsts = (1, *(end + 1 for end in RANGES))
    wide = [(low, min(high, most)) for low, high in zip(firsts, RANGES, strict=False)]
    cut = trained_with or 0
    groups: list[tuple[int, int]] = []
    for low, high in [(1, most), *wide]:
        if low <= cut < high:
            groups += [(low, high), (low, cut), (cut + 1, high)]
        elif low <= high:
            groups.append((low, high))
    single = [(seeds, seeds) for seeds in present]
    return [*(group for group in dict.fromkeys(groups) if group not in single), *single]


def _label(low: int, high: int, most: int) -> str:
    if low == high:
        return str(low)
    if low == 1:
        return "all" if high == most else f"up to {high}"
    return f"{low}-{high}"


def examine_uniform(table: Tablebase, sample: Sample, rules: Rules = Rules()) -> Examined:
    """Uniform positions of every number of seeds, until there are enough decisions among them."""
    levels = range(min(FEWEST_SEEDS, table.seeds), table.seeds + 1)
    times = 1
    while True:
        count = sample.uniform * times
        parts = [uniform_positions(seeds, count, sample.seed, rules) for seeds in levels]
        positions = join_positions(parts, rules)
        found = truth(table, positions, rules.max_plies)
        times *= 2
        if found.decisions.sum() >= sample.decisions or times > MOST_TIMES:
            return Examined(UNIFORM, positions, found, 0)


def examine_games(
    agent: Agent, table: Tablebase, sample: Sample, rules: Rules = Rules()
) -> Examined:
    """Positions of the agent's games against itself, until there are enough decisions among them.

    Raises OwareError when the number of games is not even and positive.
    """
    parts: list[Positions] = []
    played, next_games = 0, sample.games
    while True:
        seed = sample.seed + 1_000_003 * len(parts)  # far from those of a user's other runs
        games = play_match(agent, agent, games=next_games, seed=seed, rules=rules).games
        parts.append(game_positions(games.moves, games.plies, table.seeds, rules))
        played += next_games
        positions = join_positions(parts, rules)
        found = truth(table, positions, rules.max_plies)
        decisions = int(found.decisions.sum())
        missing, room = sample.decisions - decisions, MOST_TIMES * sample.games - played
        is_hopeless = not decisions and played > sample.games
        if missing <= 0 or room <= 0 or is_hopeless:
            return Examined(OWN, positions, found, played)
        wanted = 2 + missing * played // max(1, decisions)  # at the rate so far
        next_games = min(wanted + wanted % 2, 4 * sample.games, room)


def _no_decisions() -> Decisions:
    return Decisions(np.zeros(0, np.int8), np.zeros((0, 6), np.float32), np.zeros(0, np.float32))


def _worst(name: str, examined: Examined, decisions: Decisions, rules: Rules) -> list[Worst]:
    """The moves with the most regret, most first; equal houses once, whatever the stores."""
    _, positions, found, _ = examined
    rows = np.arange(len(decisions.moves))
    regrets = np.nan_to_num(found.regret[rows, decisions.moves.astype(np.int64)])
    worst: dict[bytes, Worst] = {}
    for row in np.argsort(-regrets, kind="stable"):
        houses = positions.boards[row, :12].tobytes()
        if regrets[row] == 0 or len(worst) == WORST:
            break
        if houses not in worst:
            state = State.from_board(positions.boards[row], True, rules, int(positions.plies[row]))
            better = np.flatnonzero(found.regret[row] == 0)
            worst[houses] = Worst(
                name,
                examined.source,
                state.to_text(),
                state.ply,
                move_letter(int(decisions.moves[row]), True),
                " ".join(move_letter(int(move), True) for move in better),
                int(regrets[row]),
            )
    return list(worst.values())
