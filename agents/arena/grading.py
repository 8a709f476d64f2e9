"""Grading agents by number of seeds: on boards drawn uniformly, and on those of their own games."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from agents.arena.journal import disk_faults, write_whole
from agents.arena.match import play_match
from agents.arena.oracle import Grade, Truth, game_positions, grade, truth, uniform_positions
from agents.base import Agent
from agents.tablebase.probe import Tablebase
from oware_env.notation import move_letter
from oware_env.positions import Decisions, Positions
from oware_env.rules import Rules
from oware_env.state import State

if TYPE_CHECKING:
    from rich.table import Table

UNIFORM, OWN = "uniform", "own games"
FEWEST_SEEDS = 3  # with fewer there is next to nothing to decide


class Graded(NamedTuple):
    """One agent on one group of positions."""

    agent: str
    source: str  # UNIFORM or OWN
    seeds: str  # on the board: one number, or "all"
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


class Sample(NamedTuple):
    """How many positions to grade on."""

    uniform: int  # of each number of seeds
    games: int  # of the agent against itself
    seed: int


def grade_agent(
    agent: Agent, table: Tablebase, sample: Sample, rules: Rules = Rules()
) -> tuple[list[Graded], list[Worst]]:
    """The grades of an agent by source and number of seeds, and its ten worst moves of each source.

    Raises OwareError when the number of games is not even and positive.
    """
    graded: list[Graded] = []
    worst: list[Worst] = []
    for source, positions in _sources(agent, table, sample, rules):
        found = truth(table, positions, rules.max_plies)
        decisions = agent.decide(positions) if len(positions.plies) else _no_decisions()
        held = positions.boards[:, :12].sum(axis=1)
        for seeds in ("all", *np.unique(held)):
            rows = np.arange(len(held)) if seeds == "all" else (held == seeds).nonzero()[0]
            part = Truth(*(array[rows] for array in found))
            chosen = Decisions(*(array[rows] for array in decisions))
            graded.append(Graded(agent.name, source, str(seeds), grade(part, chosen)))
        worst += _worst((agent.name, source), positions, found, decisions, rules)
    return graded, worst


def _sources(
    agent: Agent, table: Tablebase, sample: Sample, rules: Rules
) -> Iterator[tuple[str, Positions]]:
    levels = range(min(FEWEST_SEEDS, table.seeds), table.seeds + 1)
    parts = [uniform_positions(seeds, sample.uniform, sample.seed, rules) for seeds in levels]
    yield UNIFORM, Positions(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))
    games = play_match(agent, agent, games=sample.games, seed=sample.seed, rules=rules).games
    yield OWN, game_positions(games.moves, games.plies, table.seeds, rules)


def _no_decisions() -> Decisions:
    return Decisions(np.zeros(0, np.int8), np.zeros((0, 6), np.float32), np.zeros(0, np.float32))


def _worst(
    where: tuple[str, str],
    positions: Positions,
    found: Truth,
    decisions: Decisions,
    rules: Rules,
) -> list[Worst]:
    """The ten moves with the most regret, most first; ``where`` is the agent and the source."""
    rows = np.arange(len(decisions.moves))
    regrets = np.nan_to_num(found.regret[rows, decisions.moves.astype(np.int64)])
    worst = []
    for row in np.argsort(-regrets, kind="stable")[:10]:
        if regrets[row] > 0:
            state = State.from_board(positions.boards[row], True, rules, int(positions.plies[row]))
            better = np.flatnonzero(found.regret[row] == 0)
            worst.append(
                Worst(
                    *where,
                    state.to_text(),
                    state.ply,
                    move_letter(int(decisions.moves[row]), True),
                    " ".join(move_letter(int(move), True) for move in better),
                    int(regrets[row]),
                )
            )
    return worst


def grades_table(graded: Sequence[Graded]) -> "Table":
    """The grades as a table for a terminal."""
    from rich.table import Table

    table = Table(box=None, padding=(0, 1, 0, 0), header_style="bold")
    titles = ("agent", "from", "seeds", "decisions", "kept", "W>D", "W>L", "D>L", "regret", "worst")
    for title in titles:
        table.add_column(title, justify="left" if title in titles[:2] else "right", overflow="fold")
    for row in graded:
        one = row.grade
        table.add_row(
            row.agent,
            row.source,
            row.seeds,
            f"{one.judged:,}",
            _shown(100 * one.accuracy, ".1f", "%"),
            *(str(number) for number in one.blunders.values()),
            _shown(one.regret, ".2f"),
            _shown(one.regret_worst, ".0f"),
        )
    return table


def _shown(number: float, form: str, unit: str = "") -> str:
    return "-" if np.isnan(number) else f"{number:{form}}{unit}"


def write_grades(path: Path, graded: Sequence[Graded], worst: Sequence[Worst]) -> None:
    """Write everything as JSON. Raises OwareError when the disk does not take it."""
    rows: list[dict[str, Any]] = []
    for row in graded:
        numbers = {k: None if v != v else v for k, v in row.grade._asdict().items()}  # no NaN
        rows.append({"agent": row.agent, "source": row.source, "seeds": row.seeds} | numbers)
    document = {"grades": rows, "worst": [move._asdict() for move in worst]}
    with disk_faults(path):
        write_whole(path, json.dumps(document, indent=2) + "\n")
