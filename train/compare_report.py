"""What a comparison measures once its runs are trained, and how it says it."""

import io
import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from agents.arena.grading import Sample, examine_games, examine_uniform
from agents.arena.match import MatchResult
from agents.arena.oracle import grade
from agents.arena.ratings import score_interval
from agents.arena.tournament import TournamentSettings, run_tournament
from agents.roster import make
from agents.tablebase.probe import open_table
from agents.workers import open_executor
from oware_env.files import write_whole
from oware_env.rules import Rules
from train.arms import Arm, CompareSettings, read_trained, run_folder
from train.difference import Difference, difference

if TYPE_CHECKING:
    from rich.table import Table

WIDTH = 100
KEPT, LOST = "result kept", "seeds lost a move"


class GradeUnit(NamedTuple):
    """One run, graded without search and with it."""

    run: str
    settings: CompareSettings
    max_plies: int


class Results(NamedTuple):
    """All figures of a comparison, a value a seed."""

    pair_scores: list[np.ndarray]  # B's against A in each opening
    figures: dict[str, tuple[np.ndarray, np.ndarray]]  # what -> (A's, B's), float[S] each

    @property
    def scores(self) -> np.ndarray:
        """B's score against A, float[S]."""
        return np.array([scores.mean() for scores in self.pair_scores])


def measure(arms: Sequence[Arm], settings: CompareSettings, folder: Path) -> Results:
    """Play the matches and grade the endgames of every seed; matches that were played are read."""
    pair_scores: list[np.ndarray] = []
    found: list[list[dict[str, float]]] = []
    seeds = range(settings.first_seed, settings.first_seed + settings.seeds)
    for seed in seeds:
        runs = [run_folder(arm, seed, folder) for arm in arms]
        specs = [f"{run}:sims={settings.simulations}" for run in runs]
        places = [(run, seed) for run in runs]
        a_matches = _gauntlet((specs[0],), places[0], settings, arms[0])
        b_matches = _gauntlet((specs[1], specs[0]), places[1], settings, arms[1])
        pair_scores.append(b_matches[0].pair_scores)
        found.append([_scores(a_matches), _scores(b_matches[1:])])
        for figures, run in zip(found[-1], runs, strict=True):
            figures |= read_trained(run)
    units = [
        GradeUnit(str(run_folder(arm, seed, folder)), settings, arm.config.max_plies)
        for seed in seeds
        for arm in arms
    ]
    with open_executor(settings.workers) as executor:
        graded = list(executor.run_in_order(grade_run, units))
    for number, grades in enumerate(graded):
        found[number // 2][number % 2] |= grades
    by_name = {
        name: (np.array([a[name] for a, _ in found]), np.array([b[name] for _, b in found]))
        for name in found[0][0]
    }
    return Results(pair_scores, by_name)


def _gauntlet(
    specs: tuple[str, ...], place: tuple[Path, int], settings: CompareSettings, arm: Arm
) -> tuple[MatchResult, ...]:
    """The matches of the first of ``specs`` against the others and the ladder.

    Kept in the folder of the run at ``place``, a folder and a seed; each seed has its own openings.
    """
    agents = (*specs, *settings.ladder)
    if len(agents) < 2:
        return ()
    run, seed = place
    return run_tournament(
        TournamentSettings(
            agents=agents,
            format="gauntlet",
            games=settings.games,
            seed=seed,
            max_plies=arm.config.max_plies,
            device=arm.config.device,
            workers=settings.workers,
            output=str(run / "matches"),
        )
    ).matches


def _scores(matches: Sequence[MatchResult]) -> dict[str, float]:
    return {f"score against {match.b}": match.score for match in matches}


def grade_run(unit: GradeUnit) -> dict[str, float]:
    """How a run does in endgames: uniform ones, and those of its own games. A pure function."""
    settings = unit.settings
    rules, table = Rules(max_plies=unit.max_plies), open_table(settings.table)
    policy, search = (make(unit.run + how, rules) for how in ("", f":sims={settings.simulations}"))
    sample = Sample(settings.positions, settings.positions + settings.positions % 2, decisions=1)
    sources = examine_uniform(table, sample, rules), examine_games(search, table, sample, rules)
    figures = {}
    for examined in sources:
        for name, agent in (("policy", policy), (f"{settings.simulations} sims", search)):
            one = grade(examined.found, agent.decide(examined.positions))
            figures[f"{KEPT}, {examined.source}, {name}"] = one.accuracy
            figures[f"{LOST}, {examined.source}, {name}"] = one.regret
    return figures


def text_report(arms: Sequence[Arm], settings: CompareSettings, results: Results) -> str:
    """The table of all figures, and what follows from it in plain words."""
    from rich.console import Console

    text = io.StringIO()
    console = Console(file=text, width=WIDTH, color_system=None, force_jupyter=False)
    console.print(f"\nA = {arms[0].name}, B = {arms[1].name}: {_effort(settings)}", markup=False)
    console.print(_table(results))
    console.print(verdict(results), markup=False)
    return "\n".join(line.rstrip() for line in text.getvalue().splitlines())


def _effort(settings: CompareSettings) -> str:
    runs = "1 run" if settings.seeds == 1 else f"{settings.seeds} runs"
    return f"{runs} of {settings.minutes:g} minutes each, {settings.games} games a match"


def _table(results: Results) -> "Table":
    from rich.table import Table

    table = Table(box=None, padding=(0, 1, 0, 0), header_style="bold")
    table.add_column("mean over seeds", overflow="fold")
    for title in ("A", "B", "B - A", "95 %"):
        table.add_column(title, justify="right")
    halves = np.full(len(results.scores), 0.5)
    rows = {"score of B against A": (1 - results.scores, results.scores)} | results.figures
    for name, (a, b) in rows.items():
        found = difference(halves if name.startswith("score of B") else a, b)
        numbers = (float(a.mean()), float(b.mean()), found.mean, found.low, found.high)
        shown = [_shown(name, number, place > 1) for place, number in enumerate(numbers)]
        interval = "" if math.isnan(found.low) else f"{shown[3]} .. {shown[4]}"
        table.add_row(name, *shown[:3], interval)
    return table


def _shown(name: str, number: float, is_signed: bool) -> str:
    """A figure in its unit: percent, seeds with three decimals, or a count."""
    if math.isnan(number):
        return "-"
    sign = "+" if is_signed else ""
    if name.startswith(("score", KEPT)):
        return f"{100 * number:{sign}.1f} %"
    return f"{number:{sign}.3f}" if name.startswith(LOST) else f"{number:{sign},.0f}"


def verdict(results: Results) -> str:
    """Whether B is stronger than A, as far as the seeds tell."""
    scores = results.scores
    found = difference(np.full(len(scores), 0.5), scores)
    low, high = score_interval(np.concatenate(results.pair_scores))
    these = (
        f"These very runs: {scores.mean():.1%} [{low:.1%}, {high:.1%}] for B over "
        f"{sum(map(len, results.pair_scores))} opening pairs."
    )
    return f"\n{_sentence(found)}\n{these}"


def _sentence(found: Difference) -> str:
    """What the score of B against A, less one half, says about the two configurations."""
    score = f"B scores {0.5 + found.mean:.1%}"
    if found.seeds < 2:
        return f"{score} against A, with one seed: another may say something else."
    interval = f"[{0.5 + found.low:.1%}, {0.5 + found.high:.1%}] over {found.seeds} seeds"
    if found.is_clear:
        return f"B is {'stronger' if found.mean > 0 else 'weaker'} than A: {score} {interval}."
    needed = found.seeds_needed()
    hope = "no number of seeds in reach" if needed is None else f"about {needed} seeds"
    return (
        f"{found.seeds} seeds do not tell A and B apart: {score} {interval}.\n"
        f"A difference of this size takes {hope} to see; these could have shown one of "
        f"{found.high - found.mean:.1%} or more."
    )


def write_results(
    folder: Path, arms: Sequence[Arm], settings: CompareSettings, results: Results
) -> None:
    """Write all figures by seed as results.json, and the text as results.txt."""
    rows: dict[str, Any] = {
        name: {"A": a.tolist(), "B": b.tolist()} for name, (a, b) in results.figures.items()
    }
    document = {
        "arms": {arm.label: arm.name for arm in arms},
        "settings": settings.model_dump(mode="json"),
        "score of B against A": results.scores.tolist(),
        "figures": rows,
    }
    text = json.dumps(document, indent=2).replace("NaN", "null")
    write_whole(folder / "results.json", text + "\n")
    write_whole(folder / "results.txt", text_report(arms, settings, results) + "\n")
