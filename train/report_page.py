"""A training run as a page: what it reached, how it learned, how it plays."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from agents import plots
from agents.arena.report_page import tournament_sections
from agents.arena.tournament import TournamentResult
from agents.page import Section, game, page, plot, table, write_page
from oware_env.errors import OwareError
from oware_env.replay import Replay
from train.config import Config
from train.games import last_games
from train.run import METRICS, PROVENANCE

Rows = list[dict[str, Any]]
REPORT = "report.html"
SAMPLE_GAMES = 3
EVALUATION = "evaluation/"
# Plots of a run's units: title -> names of figures and what they are called, label of the axis.
CURVES = {
    "How far the network is from its targets": (
        {"loss/policy": "policy", "loss/result": "result"},
        "cross-entropy, nats",
    ),
    "How games of self-play go": (
        {
            "selfplay/draw_rate": "draws",
            "selfplay/limit_share": "ended by the move limit",
            "selfplay/first_player_score": "first player's score",
        },
        "share",
    ),
    "How long they are": ({"selfplay/game_length": "mean length"}, "plies"),
    "How sure the search is": (
        {"selfplay/policy_entropy": "entropy", "selfplay/search_surprise": "surprise of the prior"},
        "nats",
    ),
    "Seeds given away in endgames": (
        {"endgames/regret": "policy", "endgames/search_regret": "with search"},
        "seeds a move",
    ),
}


def read_metrics(run: Path) -> Rows:
    """All lines that a run logged. Raises OwareError when there are none."""
    try:
        text = (run / METRICS).read_text(encoding="utf-8")
    except OSError:
        raise OwareError(f"{run} holds no {METRICS}: nothing was logged there") from None
    rows = []
    for number, line in enumerate(text.splitlines(), 1):
        try:
            rows.append(json.loads(line))
        except ValueError:
            raise OwareError(f"{run / METRICS}, line {number}: not what a run logs") from None
    if not any("unit" in row for row in rows):
        raise OwareError(f"{run / METRICS} tells of no games: nothing was learned yet")
    return rows


def write_report(run: Path, config: Config, result: TournamentResult | None = None) -> Path:
    """Write the page of a run into its folder and return its path; raises OwareError."""
    return write_page(run_page(run, config, result), run / REPORT)


def run_page(run: Path, config: Config, result: TournamentResult | None = None) -> str:
    """The page of a run, with its final tournament if there was one."""
    rows = read_metrics(run)
    last = next(row for row in reversed(rows) if "unit" in row)
    lead = (
        f"{config.algorithm}, {config.network} network, seed {config.seed}: "
        f"{last['total/games']:,} games, {last['total/positions']:,} positions, "
        f"{last['step']:,} steps in {last['total/minutes']:.1f} minutes."
    )
    return page(f"Run {config.name}", lead, _sections(run, config, rows, result))


def _sections(
    run: Path, config: Config, rows: Rows, result: TournamentResult | None
) -> Iterator[Section]:
    opponents = sorted({name for row in rows for name in row if name.startswith(EVALUATION)})
    if opponents:
        yield Section("Strength while it learned", _strength(rows, opponents))
    if result is not None:
        yield from tournament_sections(result)
    yield Section("Learning", _curves(rows))
    graded = [row for row in rows if "endgames/accuracy" in row]
    if graded:
        yield Section(
            "Endgames at the last evaluation",
            _graded(graded[-1]),
            "Of boards drawn uniformly, with 4 to 8 seeds, where a move can give the result away.",
        )
    yield Section("Games it learned from", "".join(_samples(run, config)))
    yield Section("Where it comes from", table(("what", ""), _facts(run)))


def _facts(run: Path) -> list[tuple[str, str]]:
    """Commit, machine and the like, as the run noted them."""
    try:
        made = json.loads((run / PROVENANCE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise OwareError(f"{run / PROVENANCE} cannot be read: it says how the run began") from None
    return [(str(name), str(value)) for name, value in made.items() if not isinstance(value, dict)]


def _strength(rows: Rows, opponents: list[str]) -> str:
    """The score against each opponent over the minutes, with intervals."""
    with plots.style():
        drawn, axes = plots.figure(size=(6.5, 3.2))
        for number, name in enumerate(opponents):
            opponent = name.removeprefix(EVALUATION)
            found = [row for row in rows if name in row]
            names = (f"evaluation_low/{opponent}", name, f"evaluation_high/{opponent}")
            values = np.array([[row[key] for key in names] for row in found])
            minutes = [row["total/minutes"] for row in found]
            plots.intervals(axes[0, 0], minutes, values, opponent, number)
        axes[0, 0].axhline(0.5, color=plots.FAINT, linestyle="--", linewidth=1)
        axes[0, 0].set(xlabel="minutes", ylabel="score", ylim=(-0.02, 1.02))
        drawn.legend(loc="outside upper left", ncols=3)
        return plot(drawn, "Score against each opponent, with 95 % intervals", 20)


def _curves(rows: Rows) -> str:
    """The plots of CURVES that the run has figures for."""
    found = []
    for number, (title, (names, label)) in enumerate(CURVES.items(), 21):
        with plots.style():
            drawn, axes = plots.figure(size=(3.6, 2.6))
            is_empty = True
            for place, (name, called) in enumerate(names.items()):
                points = [(row["total/minutes"], row[name]) for row in rows if name in row]
                if points:
                    minutes, values = zip(*points, strict=True)
                    plots.curve(axes[0, 0], minutes, [plots.smooth(values).tolist()], called, place)
                    is_empty = False
            axes[0, 0].set(xlabel="minutes", ylabel=label)
            drawn.legend(loc="outside upper left", ncols=2, fontsize=8.5)
            if not is_empty:
                found.append(plot(drawn, title, number))
    return f'<div class="plots">{"".join(found)}</div>'


def _graded(row: dict[str, Any]) -> str:
    """What the network gives away in endgames, alone and with search."""
    cells = [
        (how, f"{row[f'endgames/{kind}accuracy']:.1%}", f"{row[f'endgames/{kind}regret']:.3f}")
        for how, kind in (("policy alone", ""), ("with search", "search_"))
        if f"endgames/{kind}accuracy" in row
    ]
    return table(("", "result kept", "seeds given away a move"), cells)


def _samples(run: Path, config: Config) -> Iterator[str]:
    """The last games of the run."""
    for kept in last_games(run, SAMPLE_GAMES, config):
        south, north = kept.scores
        yield game(Replay(kept.record), f"game {kept.number}: {south}-{north} ({kept.reason})")
