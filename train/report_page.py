"""A training run as a page: what it reached, how it learned, how it plays."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agents import plots
from agents.arena.grading import Sample, grade_agent
from agents.arena.oracle import Grade
from agents.arena.report_page import tournament_sections
from agents.arena.tournament import TournamentResult
from agents.page import Section, game, page, plot, table, write_page
from agents.roster import make
from oware_env.errors import OwareError
from oware_env.replay import Replay
from train.config import Config
from train.curves import CURVES, draw_curves, draw_strength, opponents
from train.endgames import open_mode_table
from train.evaluate import agent_spec
from train.games import last_games
from train.metrics import Rows, read_metrics
from train.run import METRICS, read_provenance

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

REPORT = "report.html"
SAMPLE_GAMES = 3
# Some seconds of work: of each number of seeds, and of games of the agent against itself.
GRADED_ON = Sample(uniform=60, games=40, decisions=1)


def write_report(run: Path, config: Config, result: TournamentResult | None = None) -> Path:
    """Write the page of a run into its folder and return its path; raises OwareError."""
    return write_page(run_page(run, config, result), run / REPORT)


def run_page(run: Path, config: Config, result: TournamentResult | None = None) -> str:
    """The page of a run, with its final tournament if there was one."""
    rows = read_metrics(run)
    last = next(row for row in reversed(rows) if "unit" in row)
    try:
        lead = (
            f"{config.algorithm}, {config.network} network, seed {config.seed}: "
            f"{last['total/games']:,} games, {last['total/positions']:,} positions, "
            f"{last['step']:,} steps in {last['total/minutes']:.1f} minutes."
        )
    except KeyError as missing:
        raise OwareError(f"{run / METRICS}: its last unit lacks {missing}") from None
    return page(f"Run {config.name}", lead, _sections(run, config, rows, result))


def _sections(
    run: Path, config: Config, rows: Rows, result: TournamentResult | None
) -> Iterator[Section]:
    if opponents(rows):
        yield Section("Strength while it learned", _strength(rows))
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
    if config.algorithm == "alphazero" and config.selfplay.endgames != "none":
        yield Section(
            "Endgames of the final network",
            _final_grades(run, config),
            f"Graded by the table of up to {config.selfplay.table} seeds that the run played with: "
            "of decisions, positions where a move can give the result away, how many keep it.",
        )
    yield Section("Games it learned from", "".join(_samples(run, config)))
    yield Section("Where it comes from", table(("what", ""), _facts(run)))


def _facts(run: Path) -> list[tuple[str, str]]:
    """Commit, machine and the like, as the run noted them."""
    made = read_provenance(run)
    return [(str(name), str(value)) for name, value in made.items() if not isinstance(value, dict)]


def _strength(rows: Rows) -> str:
    """The score against each opponent over the minutes, with intervals."""
    with plots.style():
        drawn, axes = plots.figure(size=(6.5, 3.2))
        draw_strength(axes[0, 0], rows)
        _legend_above(drawn, axes[0, 0])
        return plot(drawn, "Score against each opponent, with 95 % intervals", 20)


def _curves(rows: Rows) -> str:
    """The plots of CURVES that the run has figures for."""
    found = []
    for number, (title, (names, label)) in enumerate(CURVES.items(), 21):
        with plots.style():
            drawn, axes = plots.figure(size=(3.6, 2.6))
            if draw_curves(axes[0, 0], rows, names, label):
                _legend_above(drawn, axes[0, 0])
                found.append(plot(drawn, title, number))
    return f'<div class="plots">{"".join(found)}</div>'


def _legend_above(drawn: "Figure", axes: "Axes") -> None:
    """Put the legend where no curve runs: small plots have no corner to spare."""
    inside = axes.get_legend()
    if inside is not None:
        inside.remove()
    drawn.legend(loc="outside upper left", ncols=2, fontsize=9.5)


def _graded(row: dict[str, Any]) -> str:
    """What the network gives away in endgames, alone and with search."""
    cells = [
        (how, f"{row[f'endgames/{kind}accuracy']:.1%}", f"{row[f'endgames/{kind}regret']:.3f}")
        for how, kind in (("policy alone", ""), ("with search", "search_"))
        if f"endgames/{kind}accuracy" in row
    ]
    return table(("", "result kept", "seeds given away a move"), cells)


def _final_grades(run: Path, config: Config) -> str:
    """The newest checkpoint on a few hundred endgames: by its policy, and with search."""
    endgames = open_mode_table(config)
    assert endgames is not None
    agents = {"policy alone": str(run)}
    if config.evaluation.simulations:
        agents[f"{config.evaluation.simulations} simulations"] = agent_spec(run, config)
    cells = []
    for name, spec in agents.items():
        agent = make(spec, config.rules, config.device)
        found = grade_agent(agent, endgames, GRADED_ON, config.rules, endgames.seeds)
        for row in found.rows:
            if row.seeds == "all":
                cells.append((name, row.source, *_grade_cells(row.grade)))
    titles = ("", "positions", "decisions", "result kept", "95 %", "seeds given away a move")
    return table(titles, cells)


def _grade_cells(one: Grade) -> tuple[str, ...]:
    """What was counted, as far as there was anything to count."""
    if not one.judged:
        return "0", "", "", ""
    interval = f"{one.accuracy_low:.1%} .. {one.accuracy_high:.1%}"
    return f"{one.judged:,}", f"{one.accuracy:.1%}", interval, f"{one.regret:.3f}"


def _samples(run: Path, config: Config) -> Iterator[str]:
    """The last games of the run."""
    for kept in last_games(run, SAMPLE_GAMES, config):
        south, north = kept.scores
        yield game(Replay(kept.record), f"game {kept.number}: {south}-{north} ({kept.reason})")
