"""The plots of reports and notebooks, in one style that colour-blind readers can read as well.

Every function draws plain numbers on axes it is given and returns nothing; what they mean, and
where they come from, is the caller's to know. Colours: Okabe and Ito (2008). matplotlib is
imported when something is drawn.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BLUE, VERMILLION, GREEN = "#0072B2", "#D55E00", "#009E73"
ORANGE, PURPLE, SKY, YELLOW = "#E69F00", "#CC79A7", "#56B4E9", "#F0E442"
COLOURS = (BLUE, VERMILLION, GREEN, PURPLE, ORANGE, SKY)
MARKERS = "osD^vP"  # lines differ in form as well as in colour
INK, FAINT = "#2B2118", "#75695C"

_STYLE: dict[Any, Any] = {
    "axes.edgecolor": FAINT,
    "axes.labelcolor": INK,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titleweight": "bold",
    "axes.titlesize": 11,
    "axes.axisbelow": True,
    "axes.grid": True,
    "figure.dpi": 110,
    "font.size": 10,
    "grid.alpha": 0.25,
    "legend.frameon": False,
    "lines.linewidth": 2,
    "svg.fonttype": "none",  # text stays text: it can be read, searched and coloured
    "svg.hashsalt": "oware",  # equal plots are equal files
    "text.color": INK,
    "text.parse_math": False,  # a dollar in a name is a dollar
    "xtick.color": FAINT,
    "ytick.color": FAINT,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
}


class Rating(NamedTuple):
    """One agent's place: Elo with its 95 % interval."""

    agent: str
    elo: float
    low: float
    high: float


@contextmanager
def style() -> Iterator[None]:
    """The style of all plots, for what is drawn inside."""
    import matplotlib
    from cycler import cycler

    with matplotlib.rc_context({**_STYLE, "axes.prop_cycle": cycler(color=COLOURS)}):
        yield


def figure(
    rows: int = 1, columns: int = 1, size: tuple[float, float] = (8, 3)
) -> tuple["Figure", np.ndarray]:
    """A figure without a window, and its axes, Axes[rows, columns]; ``size`` in inches."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    drawn = Figure(figsize=size, layout="constrained")
    FigureCanvasAgg(drawn)
    return drawn, drawn.subplots(rows, columns, squeeze=False)


def _name_rows(axes: "Axes", rows: Sequence[int], names: Sequence[str]) -> None:
    """Write a name beside each row, as it is: no mathematics between two dollars."""
    axes.set_yticks(rows, names, parse_math=False)


def ratings(axes: "Axes", rows: Sequence[Rating]) -> None:
    """Elo of each agent with its interval, the strongest on top."""
    shown = sorted(rows, key=lambda row: row.elo)
    reach = np.array([[row.elo - row.low, row.high - row.elo] for row in shown]).T.clip(0)
    axes.errorbar(
        [row.elo for row in shown],
        range(len(shown)),
        xerr=reach,
        fmt="o",
        color=BLUE,
        capsize=4,
    )
    _name_rows(axes, range(len(shown)), [row.agent for row in shown])
    axes.set(xlabel="Elo (bars: 95 % intervals)", ylim=(-0.7, len(shown) - 0.3))


def cross_table(axes: "Axes", agents: Sequence[str], scores: np.ndarray) -> None:
    """Scores float[N, N] of each row's agent against each column's as a heat map; NaN: none."""
    cells = axes.imshow(scores, cmap="PuOr", vmin=0.0, vmax=1.0, aspect="auto").to_rgba(scores)
    axes.grid(False)
    numbers = [str(number) for number in range(1, len(agents) + 1)]
    axes.set_xticks(range(len(agents)), numbers)
    _name_rows(
        axes,
        range(len(agents)),
        [f"{agent}  {number}" for agent, number in zip(agents, numbers, strict=True)],
    )
    axes.xaxis.tick_top()
    for row, column in np.argwhere(np.isfinite(scores)):
        is_dark = cells[row, column, :3] @ (0.2126, 0.7152, 0.0722) < 0.42  # as the eye weighs them
        colour, score = "#FFFFFF" if is_dark else "#1A1A1A", scores[row, column]
        axes.text(column, row, f"{100 * score:.0f}", ha="center", va="center", color=colour)


def curve(
    axes: "Axes",
    steps: Sequence[float],
    runs: Sequence[Sequence[float]],
    label: str,
    number: int = 0,
) -> None:
    """The median of several runs as a line, from the least to the greatest as a band.

    ``runs``: float[S][T] at ``steps`` [T]; ``number`` picks colour and marker.
    """
    values = np.asarray(runs, np.float64)
    colour, marker = COLOURS[number % len(COLOURS)], MARKERS[number % len(MARKERS)]
    every = max(1, len(steps) // 12)
    axes.plot(
        steps,
        np.nanmedian(values, axis=0),
        color=colour,
        marker=marker,
        markevery=every,
        label=label,
    )
    if len(values) > 1:
        low, high = np.nanmin(values, axis=0), np.nanmax(values, axis=0)
        axes.fill_between(steps, low, high, color=colour, alpha=0.2, linewidth=0)


def smooth(values: Sequence[float], share: float = 0.02) -> np.ndarray:
    """A running mean over ``share`` of the values, as long as they are: float64[T]."""
    width = max(1, round(share * len(values)))
    padded = np.pad(np.asarray(values, np.float64), (width // 2, width - 1 - width // 2), "edge")
    return np.convolve(padded, np.full(width, 1 / width), "valid")


def intervals(
    axes: "Axes", places: Sequence[float], values: np.ndarray, label: str, number: int = 0
) -> None:
    """Measured values with their 95 % intervals, joined by a line.

    ``values`` float[T, 3]: lower bound, value, upper bound at ``places`` [T].
    """
    low, middle, high = np.asarray(values, np.float64).T
    axes.errorbar(
        places,
        middle,
        yerr=np.stack([middle - low, high - middle]).clip(0),  # rounded, a bound may lie inside
        color=COLOURS[number % len(COLOURS)],
        marker=MARKERS[number % len(MARKERS)],
        capsize=3,
        label=label,
    )


def forest(axes: "Axes", names: Sequence[str], values: np.ndarray, neutral: float = 0.5) -> None:
    """Effects with their 95 % intervals, a row each from the top; filled where they exclude none.

    ``values`` float[N, 3]: lower bound, value, upper bound; ``neutral`` is no effect.
    """
    rows = range(len(names))[::-1]
    axes.axvline(neutral, color=FAINT, linestyle="--", linewidth=1)
    for row, (low, middle, high) in zip(rows, np.asarray(values, np.float64), strict=True):
        is_clear = low > neutral or high < neutral
        axes.errorbar(
            middle,
            row,
            xerr=[[middle - low], [high - middle]],
            fmt="o",
            color=VERMILLION if is_clear else BLUE,
            markerfacecolor=VERMILLION if is_clear else "#FFFFFF",
            capsize=4,
        )
    _name_rows(axes, rows, names)
    axes.grid(False, axis="y")
    axes.set(ylim=(-0.7, len(names) - 0.3))


def lengths(axes: "Axes", plies: np.ndarray, bins: int = 40) -> None:
    """How long games are: a histogram of their plies, the median marked."""
    axes.hist(plies, bins=bins, color=SKY, edgecolor="#FFFFFF", linewidth=0.3)
    axes.axvline(float(np.median(plies)), color=VERMILLION, linestyle="--")
    axes.set(xlabel=f"plies of a game (median {np.median(plies):.0f})", ylabel="games")


def shares(axes: "Axes", parts: Mapping[str, float]) -> None:
    """Shares as bars from left to right, each with its percent."""
    names = list(parts)[::-1]
    values = [100 * parts[name] for name in names]
    axes.barh(range(len(names)), values, color=BLUE, height=0.6)
    _name_rows(axes, range(len(names)), names)
    for row, value in enumerate(values):
        axes.text(value, row, f" {value:.1f} %", va="center")
    axes.set(xlim=(0, max([*values, 1]) * 1.18), xlabel="%")


def edge(axes: "Axes", scores: Sequence[float]) -> None:
    """The first player's score in each pairing, as dots around one half."""
    places = [100 * score for score in scores]
    axes.axvline(50, color=FAINT, linestyle="--", linewidth=1)
    axes.scatter(places, range(len(places))[::-1], color=GREEN, marker="D", s=26)
    axes.set_yticks([])
    reach = max(10, *(abs(place - 50) for place in places)) * 1.1
    axes.set(xlim=(50 - reach, 50 + reach), xlabel="first player's score by pairing, %")


def calibration(axes: "Axes", said: np.ndarray, happened: np.ndarray, counts: np.ndarray) -> None:
    """What was said (values in bins) against what was so, larger dots for more positions."""
    axes.plot([-1, 1], [-1, 1], color=FAINT, linestyle="--", linewidth=1)
    axes.scatter(said, happened, s=8 + 160 * counts / max(1, counts.max()), color=BLUE, alpha=0.8)
    axes.set(
        xlabel="value it gives", ylabel="mean true result", xlim=(-1.05, 1.05), ylim=(-1.05, 1.05)
    )


class Block(NamedTuple):
    """One line of play in :func:`openings`."""

    left: float  # where it begins, and its width, as shares of all games
    width: float
    ply: int  # 1 for the first move
    value: float  # of the first player, -1 to 1; NaN for none
    text: str  # the move


def openings(axes: "Axes", blocks: Sequence[Block]) -> None:
    """An opening tree, one row a ply: widths are shares of games, colours the first player's value.

    A block lies below the line it continues; what is missing of a row is rarer than the tree shows.
    """
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize
    from matplotlib.patches import Rectangle

    values = np.array([block.value for block in blocks])
    reach = max([0.05, *np.abs(values[np.isfinite(values)])])
    scale = ScalarMappable(Normalize(-reach, reach), cmap="PuOr")
    colours = scale.to_rgba(values)
    colours[np.isnan(values)] = (0.87, 0.87, 0.87, 1)  # no value: grey
    for colour, (left, width, ply, value, text) in zip(colours, blocks, strict=True):
        place = (left, ply - 0.5)
        axes.add_patch(Rectangle(place, width, 1, facecolor=colour, edgecolor="#FFFFFF"))
        said = f"{text}\n{width:.0%}" if width >= 0.045 else text if width >= 0.014 else ""
        ink = "#FFFFFF" if abs(value) > 0.7 * reach else INK
        axes.text(left + width / 2, ply, said, ha="center", va="center", color=ink, size=8)
    bar = axes.figure.colorbar(scale, ax=axes, label="value for the first player", pad=0.01)
    bar.outline.set_visible(False)
    axes.grid(False)
    plies = sorted({block.ply for block in blocks})
    axes.set_yticks(plies, [f"{ply}  {'South' if ply % 2 else 'North'}" for ply in plies])
    axes.set(xlim=(0, 1), ylim=(plies[-1] + 0.5, plies[0] - 0.5), xlabel="share of games")
