"""A position as an agent and the endgame tables see it, laid out for a terminal."""

import math
from collections.abc import Callable

from agents.tablebase.probe import BUILT_AT_ONCE, open_table
from agents.tablebase.report import Verdicts, move_bounds, verdicts
from oware_env.errors import OwareError
from oware_env.files import printable
from oware_env.notation import move_letter
from oware_env.positions import Decisions
from oware_env.render import Bounds
from oware_env.state import State

BAR = 24  # characters of a policy of 100 %
_STYLES = {"won": "32;1", "drawn": "33;1", "lost": "31;1"}  # ANSI, by the first word of a verdict
_EIGHTHS = " ▏▎▍▌▋▊▉"


def _plain(text: str, style: str) -> str:
    return text


def analysis_text(
    state: State, decisions: Decisions, name: str, paint: Callable[[str, str], str] = _plain
) -> str:
    """A line for each legal house: the agent's policy as a bar, and what a table proves of it.

    ``decisions``: the agent's, one row, for this running state. The table is asked once the board
    holds so few seeds that it is built in a moment. ``paint`` puts text into an ANSI style.
    """
    value = float(decisions.value[0])
    judged = "" if math.isnan(value) else f", value {value:+.2f} (+1 wins, -1 loses)"
    lines, proved = [f"{printable(name)}{judged}"], Verdicts("", {})
    if sum(state.houses) <= BUILT_AT_ONCE:
        try:
            proved = verdicts(state, BUILT_AT_ONCE)
            said = paint(proved.state, _style(proved.state))
            lines.append(f"the endgame table: {said} for the side to move")
        except OwareError as error:  # such as a move limit beyond what it is proved for
            lines.append(f"the endgame table says nothing: {error}")
    for move in state.legal_moves:
        share, words = float(decisions.policy[0, move]), proved.moves.get(move, "")
        line = f"  {move_letter(move, state.south_to_move)}  {paint(bar(share), '38;5;33')}"
        lines.append(f"{line} {share:>4.0%}  {paint(words, _style(words))}".rstrip())
    return "\n".join(lines)


def _style(words: str) -> str:
    return _STYLES.get(words.split(" ")[0], "0")


def hint_text(state: State, decisions: Decisions, name: str) -> str:
    """The move that an agent would play in a running state, what it gives, and what it does."""
    report, value = state.explain(int(decisions.moves[0])), float(decisions.value[0])
    judged = "" if math.isnan(value) else f" (value {value:+.2f}; +1 wins, -1 loses)"
    return f"{name} would play {report.letter}{judged}. {report}"


def proved_moves(state: State, seeds: int = BUILT_AT_ONCE) -> Bounds | None:
    """What a table of up to ``seeds`` seeds proves of each move, as ``verdicts`` of a picture.

    None when the board holds more seeds or the game is over. A small table is built when first
    asked for; raises OwareError when a larger one is missing.
    """
    if state.is_over or sum(state.houses) > seeds:
        return None
    return move_bounds(state, open_table(seeds))


def bar(share: float) -> str:
    """A share from 0 to 1 as a bar of BAR characters, to an eighth of one."""
    eighths = round(8 * BAR * min(1.0, max(0.0, share)))
    whole, rest = divmod(eighths, 8)
    return ("█" * whole + (_EIGHTHS[rest] if rest else "")).ljust(BAR)
