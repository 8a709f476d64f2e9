"""One evening at the board: whose turn it is, what was typed, what is shown.

Agents and people sit on either seat. The session plays the agents' moves and reads a person's
commands; the game itself is in ``game``, the streams are in ``terminal``.
"""

from collections.abc import Callable
from functools import partial

from agents.base import Agent, consult
from agents.play.analysis import analysis_text, hint_text
from agents.play.game import Game, load_game, read_path, save_game, stated_text
from agents.play.players import Players, ending_text
from agents.play.terminal import Terminal
from agents.settings import nearest
from oware_env import render
from oware_env.errors import OwareError, shown
from oware_env.explain import MoveReport
from oware_env.files import printable
from oware_env.positions import Decisions
from oware_env.records import GameRecord
from oware_env.rules import describe_rules
from oware_env.state import State

_SHORT = {"?": "help", "h": "hint", "u": "undo", "q": "quit", "exit": "quit"}
_HELP = """\
  A to F         sow from a house, in either case; only legal houses are taken
  hint      (h)  the move {adviser} would play here, and what it does
  analyse        its policy and value, and what a table proves of each house
  explain X      what sowing from house X does, or why it is not legal;
                 without X: every legal house
  undo      (u)  take back to your last turn
  save FILE.ogn  save the game so far; save! replaces a file that is there;
                 FILE.html is a page to step through
  load FILE.ogn  go on with a saved game; load! gives up one that is not saved
  new            start again, against another seed; new! likewise
  position       the position as text, as --position takes it
  help      (?)  this list
  quit      (q)  leave, as Ctrl-D does; Enter alone shows the board again"""


class Session:
    """Plays one game to the end of the input, with people at the terminal."""

    def __init__(self, game: Game, players: Players, terminal: Terminal) -> None:
        self._game, self._players, self._terminal = game, players, terminal
        self._people, self._names = players.people, players.names
        self._saved = self._moves  # of the game as a file holds it
        self._commands: dict[str, Callable[[str], None]] = {
            "hint": self._hint,
            "analyse": self._analyse,
            "explain": self._explain,
            "undo": self._undo,
            "save": self._save,
            "save!": partial(self._save, overwrite=True),
            "load": self._load,
            "load!": partial(self._load, given_up=True),
            "new": self._new,
            "new!": partial(self._new, given_up=True),
            "position": self._position,
            "help": self._help,
        }

    def run(self) -> None:
        """Play until the person leaves or the input ends."""
        self._greet()
        try:
            while True:
                if agent := self._players.to_move(self._state):
                    self._let_move(agent)
                elif not self._obey(self._terminal.ask(self._prompt())):
                    break
        except KeyboardInterrupt:
            self._terminal.say()
            raise
        finally:
            if not self._state.is_over and not self._game.is_fresh:
                self._terminal.say(f"Left at ply {self._state.ply}. To take it up again:")
                self._terminal.say(f"  --position {self._state.to_text()}")

    @property
    def _state(self) -> State:
        return self._game.state

    @property
    def _moves(self) -> tuple[int, ...]:
        return self._game.record({}).moves

    def _prompt(self) -> str:
        if self._state.is_over:
            undo = "undo, " if any(self._people.values()) else ""
            return f"The game is over ({undo}new, save FILE.ogn, quit): "
        name = self._names[self._state.south_to_move]
        return "Your move: " if name == "You" else f"{name}'s move: "

    def _greet(self) -> None:
        south, north = (
            "you" if self._people[seat] else self._names[seat] for seat in (True, False)
        )
        self._terminal.say(f"South: {south} - North: {north}. Type help for the commands.")
        self._say_stated(self._game.record({}))
        self._show_board()

    def _show_board(self) -> None:
        scene = self._state.scene()
        if self._terminal.paints:
            board = render.painted(scene)
        else:
            told = scene._replace(origin=None)  # the last move was told in full
            board = render.ansi(told, colour=self._terminal.colour)
        self._terminal.say("\n" + board)
        if self._state.is_over:
            self._terminal.tell(ending_text(self._state, self._names))

    def _let_move(self, agent: Agent) -> None:
        """Play the agent's move."""
        self._play(int(self._consult(agent).moves[0]))
        self._show_board()
        if not any(self._people.values()) and not self._state.is_over:
            self._terminal.pause(self._players.pause)

    def _play(self, move: int) -> None:
        """Play a legal move and say what it did; the board is left to the caller."""
        name, report = self._names[self._state.south_to_move], self._state.explain(move)
        self._game.play(move)
        self._terminal.tell(str(report), speaker=name)

    def _consult(self, agent: Agent) -> Decisions:
        """What an agent would do here, one row, while a notice says that it is thinking."""
        with self._terminal.notice(f"{agent.name} is thinking ..."):
            return consult(agent, self._state, self._players.seed)

    def _obey(self, line: str | None) -> bool:
        """Do what was typed; False when it is to leave. A mistake is said, nothing changes."""
        if line is None:
            return False
        word, _, rest = line.partition(" ")
        word = _SHORT.get(word.lower(), word.lower())
        if word == "quit" and not rest:
            return False
        try:
            if not word:
                self._show_board()
            elif word in self._commands:
                self._commands[word](rest.strip())
            else:
                self._move(line)
        except OwareError as error:
            self._terminal.tell(str(error))
        return True

    def _move(self, text: str) -> None:
        """Play the house a person named."""
        if len(text) > 1:
            raise OwareError(f"no command {shown(text)}{nearest(text, [*self._commands, 'quit'])}")
        report = self._report(text)
        if not report.legal:
            offered = " ".join(self._state.legal_letters)
            raise OwareError(f"{report.why_not}; legal: {offered}")
        self._play(report.move)
        if self._players.to_move(self._state) is None:
            self._show_board()

    def _report(self, text: str) -> MoveReport:
        """The report of a house of the side to move, named in either case."""
        self._require_running()
        letter = text.upper() if self._state.south_to_move else text.lower()
        if len(letter) != 1 or letter not in render.LETTERS:
            first, last = ("A", "F") if self._state.south_to_move else ("a", "f")
            raise OwareError(f"{shown(text)} is no house: houses are {first} to {last}")
        return self._state.explain(letter)

    def _require_running(self) -> None:
        if self._state.is_over:
            raise OwareError("the game is over")

    def _hint(self, rest: str) -> None:
        self._no_argument("hint", rest)
        self._require_running()
        adviser = self._players.adviser
        said = hint_text(self._state, self._consult(adviser), adviser.name)
        self._terminal.tell(said, speaker="Hint")

    def _analyse(self, rest: str) -> None:
        self._no_argument("analyse", rest)
        self._require_running()
        adviser = self._players.adviser
        decisions = self._consult(adviser)
        paint = self._terminal.paint
        self._terminal.say(analysis_text(self._state, decisions, adviser.name, paint))

    def _explain(self, rest: str) -> None:
        self._require_running()
        for letter in [rest] if rest else self._state.legal_letters:
            self._terminal.tell(str(self._report(letter)))

    def _undo(self, rest: str) -> None:
        self._no_argument("undo", rest)
        taken = self._game.undo(self._people)
        if not taken:
            raise OwareError("there is no earlier turn of yours to take back to")
        self._terminal.say(f"Took back {taken} move{'s' * (taken != 1)}.")
        self._show_board()

    def _save(self, rest: str, overwrite: bool = False) -> None:
        path = read_path(rest)
        remedy = f"save! {path} replaces it"
        record = self._game.record(self._players.tags)
        save_game(path, record, overwrite=overwrite, remedy=remedy)
        self._saved = self._moves
        self._terminal.say(f"Saved to {path}.")

    def _load(self, rest: str, given_up: bool = False) -> None:
        path = read_path(rest)
        self._require_kept("load", given_up)
        record = load_game(path)
        if record.rules != self._state.rules:
            raise OwareError(
                f"{path} is a game of {describe_rules(record.rules)}, this one is "
                f"{describe_rules(self._state.rules)}: start with oware-play --load {path}"
            )
        self._game = Game(record)
        self._saved = self._moves
        self._terminal.say(f"Loaded {path}, {len(record.moves)} moves.")
        self._say_stated(record)
        self._show_board()

    def _say_stated(self, record: GameRecord) -> None:
        """Say what a file gives as the result of a game that the rules let go on."""
        if stated := stated_text(record):
            self._terminal.tell(stated)

    def _new(self, rest: str, given_up: bool = False) -> None:
        self._no_argument("new", rest)
        self._require_kept("new", given_up)
        self._game = self._game.again()
        self._saved = self._moves
        self._players = self._players.with_next_seed()
        self._show_board()

    def _require_kept(self, command: str, given_up: bool) -> None:
        """A running game is given up only on request, or when a file holds it."""
        if not (given_up or self._state.is_over or self._moves == self._saved):
            raise OwareError(f"this game is not saved: save it first, or {command}! gives it up")

    def _position(self, rest: str) -> None:
        self._no_argument("position", rest)
        self._terminal.say(self._state.to_text())

    def _help(self, rest: str) -> None:
        self._no_argument("help", rest)
        self._terminal.say(_HELP.format(adviser=printable(self._players.adviser.name)))

    def _no_argument(self, command: str, rest: str) -> None:
        if rest:
            raise OwareError(f"{command} stands alone, without {shown(rest)}")
