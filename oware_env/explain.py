"""One move, explained as data and in words: what State.explain returns.

Uses the rule kernels themselves on a copy of the board, so an explanation cannot disagree with
what a move does. Houses in a report are absolute: 0-5 are A-F, 6-11 are a-f.
"""

from typing import NamedTuple

import numpy as np

from oware_env import rules
from oware_env.notation import NORTH_LETTERS, SOUTH_LETTERS, move_letter

ALL_LETTERS = SOUTH_LETTERS + NORTH_LETTERS


class MoveReport(NamedTuple):
    """What one move would do, and why it is or is not offered. ``str()`` gives it in words."""

    move: int  # 0-5 of the side to move
    letter: str
    legal: bool
    why_not: str | None  # one clause, None when legal
    seeds: int  # seeds in hand
    path: tuple[int, ...]  # houses sown, in order, laps included; () for an empty house
    laps: int  # how often the house of origin was skipped
    landing: int | None  # house of the last seed
    landing_count: int  # what it holds after sowing, before any capture
    captured: tuple[int, ...]  # houses captured, from the landing house backwards
    captured_seeds: int
    void_slam: tuple[int, ...]  # houses a voided grand slam would have taken, else ()
    feeding_duty: bool  # the opponent is empty, so only moves that reach its side are offered

    def __str__(self) -> str:
        return " ".join(_sentences(self))


def house_of(relative: int, south_to_move: bool) -> int:
    """Absolute house (0-11, A-f) of a mover-relative house 0-11."""
    return relative if south_to_move else (relative + 6) % 12


def why_not_offered(board: np.ndarray, move: int, south_to_move: bool, status: int) -> str | None:
    """Why move 0-5 is not legal on ``board`` with this :func:`~oware_env.rules.status`, or None."""
    if status >= 64:
        return f"the game is over ({rules.REASONS[status >> 6]})"
    if status >> move & 1:
        return None
    letter = move_letter(move, south_to_move)
    if board[move] == 0:
        return f"house {letter} is empty"
    return (
        f"the opponent has no seeds and must be fed: house {letter} holds {board[move]} "
        f"and needs {6 - move} to reach the other side"
    )


def explain_move(board: np.ndarray, move: int, south_to_move: bool, status: int) -> MoveReport:
    """The report of move 0-5 on a board (int8[14], mover's view); it need not be legal."""
    after = board.copy()
    seeds = int(board[move])
    path, laps = _path(move, seeds)
    captured: tuple[int, ...] = ()
    void: tuple[int, ...] = ()
    captured_seeds = landing_count = 0
    if seeds:
        last = int(rules.sow(after, move))
        landing_count = int(after[last])
        chain = tuple(range(last, int(rules.chain_start(after, last)) - 1, -1))
        captured_seeds = int(rules.capture(after, last))
        captured, void = (chain, ()) if captured_seeds else ((), chain)

    def absolute(houses: tuple[int, ...]) -> tuple[int, ...]:
        """Houses of the mover's view as houses of the seats."""
        return tuple(house_of(house, south_to_move) for house in houses)

    why_not = why_not_offered(board, move, south_to_move, status)
    return MoveReport(
        move=move,
        letter=move_letter(move, south_to_move),
        legal=why_not is None,
        why_not=why_not,
        seeds=seeds,
        path=absolute(path),
        laps=laps,
        landing=absolute(path)[-1] if path else None,
        landing_count=landing_count,
        captured=absolute(captured),
        captured_seeds=captured_seeds,
        void_slam=absolute(void),
        feeding_duty=status < 64 and bool(rules.is_opponent_empty(board)),
    )


def _path(move: int, seeds: int) -> tuple[tuple[int, ...], int]:
    """The houses a sow of ``seeds`` visits (mover-relative), and how often it skips its origin."""
    # Eleven houses take a seed each lap; the origin is passed whenever a twelfth seed is in hand.
    path = tuple((move + 1 + number + number // 11) % 12 for number in range(seeds))
    return path, max(0, seeds - 1) // 11


def _names(houses: tuple[int, ...]) -> str:
    return ", ".join(ALL_LETTERS[house] for house in houses)


def _sentences(report: MoveReport) -> list[str]:
    """The report in words, one short sentence a fact."""
    if not report.path:
        return [f"{report.letter}: not offered, {report.why_not}."]
    seeds = f"{report.seeds} seed" + "s" * (report.seeds != 1)
    said = [f"{report.letter} sows {seeds} over {_names(report.path)}."]
    if report.laps:
        times = "once" if report.laps == 1 else f"{report.laps} times"
        said.append(f"House {report.letter} is skipped {times} and stays empty.")
    landing = ALL_LETTERS[report.path[-1]]
    said.append(f"The last seed makes {report.landing_count} in {landing}.")
    if report.captured:
        said.append(f"Captures {report.captured_seeds} seeds from {_names(report.captured)}.")
    elif report.void_slam:
        said.append(
            f"Taking {_names(report.void_slam)} would leave the opponent without a seed: "
            "a grand slam is void, nothing is captured."
        )
    else:
        said.append("Captures nothing.")
    if report.why_not:
        said.append(f"Not offered: {report.why_not}.")
    elif report.feeding_duty:
        said.append("The opponent has no seeds, so only moves that feed it are offered.")
    return said
