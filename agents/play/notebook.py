"""A board to play on inside a notebook, through ipywidgets.

>>> from agents.play.notebook import play
>>> board = play("strategist", seat="south")  # as the last value of a cell it shows itself

The rules, the game and the agents are those of the terminal; this module has buttons and pictures.
"""

from collections.abc import Callable
from datetime import date
from functools import partial
from html import escape
from secrets import randbits
from typing import Any

from agents.base import Agent, consult
from agents.play.analysis import hint_text, proved_moves
from agents.play.game import Game, read_path, save_game
from agents.play.notebook_parts import Buttons, Parts
from agents.play.players import Players, ending_text, seat_players
from agents.roster import make
from oware_env.errors import OwareError
from oware_env.notation import move_letter
from oware_env.records import GameRecord
from oware_env.render import Theme
from oware_env.state import State


def play(
    agent: str | Agent = "strategist",
    seat: str = "south",
    start: State | None = None,
    seed: int | None = None,
    theme: Theme = "light",
) -> "Board":
    """A board to play on against an agent, or the spec of one, from ``start`` on.

    ``seat``: yours, "south" or "north", or "both": the agent then only gives hints. ``seed``: of
    the agent; when left out, each game is another one. ``theme``: that of the picture, see
    :func:`oware_env.render.svg`. Raises OwareError for a mistake in one of them, and when
    ipywidgets is not installed.
    """
    start = State.initial() if start is None else start
    player = make(agent, start.rules) if isinstance(agent, str) else agent
    seed = randbits(32) if seed is None else seed
    return Board(seat_players(player, seat, seed), start, theme)


class Board:
    """A game to click through; ``record()`` gives it as a :class:`GameRecord` at any time."""

    def __init__(self, players: Players, start: State, theme: Theme = "light") -> None:
        """Begins the game; raises OwareError when ipywidgets is not installed."""
        self._players, self._theme = players, theme
        tags = {"Date": f"{date.today():%Y.%m.%d}"}
        self._game = Game(GameRecord.from_moves((), start, tags=tags))
        self._told: list[tuple[str, str]] = []  # (speaker, words), the last exchange
        self._advice: str | None = None  # the picture with the last hint drawn into it
        self.parts = Parts()
        for buttons in self.parts.sets:
            for column, button in enumerate(buttons.houses):
                button.on_click(self._guard(partial(self._sow, column), buttons))
            for button, action in (
                (buttons.undo, self._undo),
                (buttons.hint, self._hint),
                (buttons.new, self._begin),
                (buttons.save, self._save),
            ):
                button.on_click(self._guard(action, buttons))
        self._guard(self._begin, self.parts.shown)()

    @property
    def state(self) -> State:
        """The position now."""
        return self._game.state

    def record(self) -> GameRecord:
        """The game so far."""
        return self._game.record(self._players.tags)

    def svg(self) -> str:
        """The picture shown now, with the last hint drawn into it."""
        return self._advice or self.state.svg(theme=self._theme)

    def __repr__(self) -> str:
        names = self._players.tags
        return f"Board of South {names['South']}, North {names['North']}, ply {self.state.ply}"

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        # The picture stands in for the widget where none can run, as in a stored notebook.
        bundle: dict[str, Any] = self.parts.whole._repr_mimebundle_()
        return {**bundle, "image/svg+xml": self.svg(), "text/plain": repr(self)}

    def _guard(self, action: Callable[[], None], buttons: Buttons) -> Callable[..., None]:
        """The action as a button of a set runs it: a mistake or a failure is said in one line."""

        def run(*_: Any) -> None:
            """Do it and show the game as it stands then; the arguments are the button's.

            A click counts for the picture it was made on: those on a set of buttons that has been
            replaced come from before the browser drew the new one, such as a second fast click.
            """
            if buttons is not self.parts.shown:
                return
            try:
                action()
            except Exception as error:  # a click has nobody above it who would see it
                self._say("Not done", _reason(error))
            finally:  # after an interrupt, too, something can be pressed again
                self.parts.change_sets()
                self._show()

        return run

    def _say(self, speaker: str, words: str, *, on: bool = False) -> None:
        """Say something below the board, after what stands there when ``on``."""
        self._told = [*(self._told if on else []), (speaker, " ".join(words.split()))]

    def _begin(self) -> None:
        """Set up a new game, against the next seed unless nothing was played yet."""
        if not self._game.is_fresh:
            self._players = self._players.with_next_seed()
        self._game = self._game.again()
        self._advice, self._told = None, []
        self._answer()

    def _house(self, column: int) -> int:
        """The move 0-5 of the side to move in a column of the board, from the left."""
        return column if self.state.south_to_move else 5 - column

    def _sow(self, column: int) -> None:
        """A person's move."""
        self._told = []
        self._play(self._house(column))
        self._answer()

    def _play(self, move: int) -> None:
        """Play a move and say what it did."""
        name, state = self._players.names[self.state.south_to_move], self.state
        self._game.play(move)
        self._advice = None
        self._say(name, str(state.explain(move)), on=True)

    def _answer(self) -> None:
        """Let the agent move when it is its turn; raises OwareError when it cannot."""
        agent = self._players.to_move(self.state)
        if agent is None:
            return
        self._show(f"{agent.name} is thinking ...")
        try:
            self._play(int(consult(agent, self.state, self._players.seed).moves[0]))
        except Exception as error:
            raise OwareError(f"{agent.name} could not move: {_reason(error)}") from error

    def _hint(self) -> None:
        adviser = self._players.adviser
        self._show(f"{adviser.name} is thinking ...")
        decisions = consult(adviser, self.state, self._players.seed)
        said = hint_text(self.state, decisions, adviser.name)
        policy, value = decisions.policy[0].tolist(), float(decisions.value[0])
        self._advice = self.state.svg(policy, value, proved_moves(self.state), self._theme)
        self._say("Hint", said)

    def _undo(self) -> None:
        if not self._game.undo(self._players.people):
            raise OwareError("there is no earlier turn of yours to take back to")
        self._advice, self._told = None, []

    def _save(self) -> None:
        path = read_path(self.parts.file.value.strip())
        save_game(path, self.record())
        self._say("Saved", str(path))

    def _show(self, busy: str = "") -> None:
        """Show the game as it stands; while ``busy`` with something, nothing can be pressed."""
        state, parts = self.state, self.parts
        mine = not busy and not state.is_over and self._players.people[state.south_to_move]
        parts.picture.value = self.svg()
        for column, button in enumerate(parts.houses):
            move = self._house(column)
            letter = move_letter(move, state.south_to_move)
            button.description = letter
            button.disabled = not mine or move not in state.legal_moves
            button.tooltip = state.explain(move).why_not or f"sow from {letter}"
        parts.hint.disabled = not mine
        parts.undo.disabled = bool(busy) or self._game.is_fresh
        parts.new.disabled = parts.save.disabled = bool(busy)
        parts.show_set()
        lines = [*self._told, *([("", busy)] if busy else []), *self._ending()]
        parts.words.value = "".join(_line(speaker, words) for speaker, words in lines)

    def _ending(self) -> list[tuple[str, str]]:
        over = self.state.is_over
        return [("The end", ending_text(self.state, self._players.names))] if over else []


def _reason(error: Exception) -> str:
    """What went wrong; an error that is no user's mistake is named by its type too."""
    return str(error) if isinstance(error, OwareError) else f"{type(error).__name__}: {error}"


def _line(speaker: str, words: str) -> str:
    """A line of text as HTML; nothing in it is taken as markup."""
    head = f"<b>{escape(speaker)}:</b> " if speaker else ""
    return f'<p style="margin:0;line-height:1.4">{head}{escape(words)}</p>'
