"""A game that can be taken back, saved and loaded: the states so far and the moves between them."""

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from oware_env.errors import OwareError
from oware_env.files import is_folder, is_there, write_whole
from oware_env.records import GameRecord, load_ogn
from oware_env.replay import Replay
from oware_env.state import State


class Game:
    """The states of a game from its start to now. Made from a record, gives a record."""

    def __init__(self, record: GameRecord = GameRecord()) -> None:
        self._states = list(record.states())
        self._moves = list(record.moves)
        self._tags = record.tags
        self._source = record

    @property
    def state(self) -> State:
        """The position now."""
        return self._states[-1]

    @property
    def is_fresh(self) -> bool:
        """Whether no move was played yet."""
        return not self._moves

    def play(self, move: int) -> None:
        """Play a move 0-5; raises :class:`~oware_env.state.IllegalMove`."""
        self._states.append(self.state.play(move))
        self._moves.append(move)

    def undo(self, is_turn: Mapping[bool, bool]) -> int:
        """Take back to the last earlier turn of a side for which ``is_turn[south_to_move]``.

        Returns how many moves were taken back: 0, and nothing changes, when there is no such turn.
        """
        for index in reversed(range(len(self._moves))):
            if is_turn[self._states[index].south_to_move]:
                taken = len(self._moves) - index
                del self._states[index + 1 :], self._moves[index:]
                return taken
        return 0

    def again(self) -> "Game":
        """A new game from the same start."""
        return Game(GameRecord.from_moves((), self._states[0], tags=self._tags))

    def record(self, tags: Mapping[str, str]) -> GameRecord:
        """The game so far as a record: its own tags, and ``tags`` over them."""
        moves, start = tuple(self._moves), self._states[0]
        record = GameRecord.from_moves(moves, start, tags={**self._tags, **tags})
        if moves != self._source.moves:  # what a file said of its result is of the game there
            return record
        return replace(record, stated_result=self._source.stated_result)


def load_game(path: Path) -> GameRecord:
    """The one game of an OGN file; raises :class:`OwareError` that names the file and the fault."""
    records = load_ogn(path)
    if len(records) > 1:
        raise OwareError(f"{path} holds {len(records)} games, only a file of one can be taken up")
    return records[0]


def stated_text(record: GameRecord) -> str:
    """A sentence on a result that the source states and the rules do not reach; or nothing."""
    if record.stated_result is None:
        return ""
    return f"The file says {record.stated_result}; by the rules the game is not over."


def read_path(text: str) -> Path:
    """The file that a person names; raises :class:`OwareError` when that is no name."""
    if not text or not text.isprintable():
        raise OwareError("no file is named: give a name such as game.ogn")
    return Path(os.path.expanduser(text))  # leaves an unknown ~name as it is


def save_game(
    path: Path, record: GameRecord, *, overwrite: bool = False, remedy: str = "give another name"
) -> None:
    """Write a game, whole or not at all; a file that stands there only on request.

    As OGN, or as a page to step through when the name ends in .html.

    Raises :class:`OwareError` when it cannot be written, or stands and must not be replaced;
    ``remedy`` says what to do then.
    """
    if is_folder(path):
        raise OwareError(f"{path} is a folder: give the name of a file in it")
    if is_there(path) and not overwrite:
        raise OwareError(f"{path} exists already: {remedy}")
    is_page = path.suffix.lower() == ".html"
    write_whole(path, Replay(record).html() if is_page else record.to_ogn())
