"""Games as they were played: one record, text in Oware Game Notation, files of many.

A record is a start, rules and moves; everything else (states, result) is played out from them,
so a record cannot disagree with the rules. What is read is checked move by move.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike

import numpy as np

from oware_env.errors import OwareError, shown
from oware_env.files import read_text
from oware_env.game_arrays import GameArrays, load_arrays, replay, save_arrays
from oware_env.notation import START, move_letter, parse_move
from oware_env.ogn import OgnGame, check_tags, join_game, split_games
from oware_env.ogn_reader import (
    RESULT_TAG,
    ROSTER,
    UNKNOWN,
    check_result,
    known_tags,
    read_game,
    result_of,
)
from oware_env.rules import BOARD, Rules, describe_rules
from oware_env.state import Outcome, State

__all__ = [
    "GameArrays",
    "GameRecord",
    "load_arrays",
    "load_games",
    "load_ogn",
    "read_ogn",
    "replay",
    "save_arrays",
    "save_games",
]


@dataclass(frozen=True, slots=True)
class GameRecord:
    """A game, finished or not. Made by :meth:`from_moves`, which checks the moves."""

    moves: tuple[int, ...] = ()
    """Moves 0-5, each of the side to move."""
    start: str = START
    """The position before the first move."""
    ply: int = 0
    """The ply of that position."""
    rules: Rules = field(default_factory=Rules)
    tags: Mapping[str, str] = field(default_factory=dict, hash=False)
    """What else is known, by OGN tag name: South, North, Event, Date, ..."""
    stated_result: str | None = None
    """What the source says of the result where the rules reach none: ``"26-22"``, ``"1-0"``, ..."""

    @classmethod
    def from_moves(
        cls,
        moves: Sequence[int | str],
        start: str | State = START,
        *,
        ply: int = 0,
        rules: Rules = Rules(),
        tags: Mapping[str, str] | None = None,
    ) -> "GameRecord":
        """A record of moves: 0-5 or letters; text such as ``"FfEcCc"`` is letters in a row.

        A ``start`` given as a State brings its own ply and rules. Raises :class:`OwareError`
        naming the first move (from 1) that is not legal.
        """
        state = start if isinstance(start, State) else State.parse(start, rules, ply)
        tags = {} if tags is None else tags
        check_tags(tags)
        record = cls((), state.to_text(), state.ply, state.rules, known_tags(tags))
        played = []
        try:
            moves = list(moves)
        except TypeError:
            raise OwareError(f"moves are 0-5 or letters in a row, not {shown(moves)}") from None
        for number, move in enumerate(moves, 1):
            try:
                after = state.play(move)
            except OwareError as error:
                raise OwareError(f"move {number}: {error}") from None
            is_letter = isinstance(move, str)
            played.append(parse_move(str(move), state.south_to_move) if is_letter else int(move))
            state = after
        return replace(record, moves=tuple(played))

    @classmethod
    def from_ogn(cls, text: str) -> "GameRecord":
        """The one game of an OGN text; see :func:`read_ogn` for what is refused."""
        records = read_ogn(text)
        if len(records) != 1:
            raise OwareError(f"the text holds {len(records)} games, not one: use read_ogn")
        return records[0]

    def with_result(self, text: str) -> "GameRecord":
        """The same game with the result that its source states.

        Nothing is kept where the rules reach it themselves, and of ``"*"``. Raises
        :class:`OwareError` where they reach another one, and for what cannot be.
        """
        if not isinstance(text, str):
            raise OwareError(f"a result is text such as 27-21, not {shown(text)}")
        return replace(self, stated_result=check_result(text, self.final))

    def states(self) -> Iterator[State]:
        """Every state of the game, from the start to the last; one more than there are moves."""
        state = State.parse(self.start, self.rules, self.ply)
        yield state
        for move in self.moves:
            state = state.play(move)
            yield state

    @property
    def final(self) -> State:
        """The state after the last move."""
        for state in self.states():
            last = state
        return last

    @property
    def outcome(self) -> Outcome | None:
        """How the game ended, None when it did not."""
        return self.final.outcome

    def to_ogn(self) -> str:
        """The game as OGN text that :meth:`from_ogn` reads back without loss."""
        words, final = self._words()
        result = result_of(final)
        if self.stated_result is not None:
            result = check_result(self.stated_result, final) or result
        tags = {"Variant": "Abapa"} | {name: self.tags.get(name, UNKNOWN) for name in ROSTER}
        tags[RESULT_TAG] = result
        if self.start != START:
            tags["FEN"] = self.start
        if self.ply:
            tags["Ply"] = str(self.ply)
        if self.rules != Rules():
            tags["MaxPlies"] = str(self.rules.max_plies)
        check_tags(self.tags)
        return join_game(tags | known_tags(self.tags), [*words, result])

    def _words(self) -> tuple[list[str], State]:
        """Numbers and moves, with ``+n`` after a capture of n seeds; and the final state."""
        words = []
        states = self.states()
        state = next(states)
        odd = not state.south_to_move  # North moves first: "1... f 2. E"
        for count, (move, after) in enumerate(zip(self.moves, states, strict=True), odd):
            if state.south_to_move:
                words.append(f"{count // 2 + 1}.")
            elif not words:
                words.append("1...")
            captured = _captured(state, after)
            mark = f"+{captured}" if captured else ""
            words.append(move_letter(move, state.south_to_move) + mark)
            state = after
        return words, state


def read_ogn(text: str) -> list[GameRecord]:
    """The games of an OGN text, one or several.

    Raises :class:`OwareError` naming the line: for text that is no OGN, an empty text, another
    variant, an illegal move (with its number), a number of a move that is out of order, and for a
    ``+n`` mark or a result that contradicts the moves. A result where the rules reach none is kept
    as :attr:`GameRecord.stated_result`.
    """
    if not isinstance(text, str):
        raise OwareError(f"games are read from text, not {shown(text)}")
    games = split_games(text)
    if not games:
        raise OwareError("the text holds no game: OGN has tags and moves such as 1. F f 2. E+2")
    return [_as_record(game) for game in games]


def _as_record(game: OgnGame) -> GameRecord:
    start, moves, tags, stated = read_game(game)
    return GameRecord(moves, start.to_text(), start.ply, start.rules, known_tags(tags), stated)


def load_ogn(path: str | PathLike[str]) -> list[GameRecord]:
    """The games of an OGN file. Raises as :func:`read_ogn` does, naming the file as well."""
    text = read_text(path, "OGN file")
    try:
        return read_ogn(text)
    except OwareError as error:
        raise OwareError(f"{path}: {error}") from None


def _captured(before: State, after: State) -> int:
    """Seeds the move between two states harvested."""
    return sum(after.stores) - sum(before.stores)


def save_games(path: str | PathLike[str], records: Sequence[GameRecord]) -> None:
    """Write records of one rule set as a compact NPZ file, whole or not at all.

    For a million games that stand in arrays already, :func:`save_arrays` needs no records.
    """
    for number, record in enumerate(records):
        if not isinstance(record, GameRecord):
            raise OwareError(f"game {number} must be a GameRecord, not {shown(record)}")
        if record.rules != records[0].rules:
            raise OwareError(
                f"a file holds games of one rule set: game 0 has {describe_rules(records[0].rules)}"
                f", game {number} {describe_rules(record.rules)}"
            )
    starts = [State.parse(record.start, record.rules, record.ply) for record in records]
    lengths = [len(record.moves) for record in records]
    games = GameArrays(
        boards=np.array([state.board for state in starts], np.int8).reshape(-1, BOARD),
        south_to_move=np.array([state.south_to_move for state in starts], np.bool_),
        plies=np.array([state.ply for state in starts], np.int32),
        moves=np.array([move for record in records for move in record.moves] or np.zeros(0, int)),
        offsets=np.concatenate(([0], np.cumsum(lengths, dtype=np.int64))),
        rules=records[0].rules if records else Rules(),
        tags=[_file_tags(record) for record in records],
    )
    save_arrays(path, games)


def _file_tags(record: GameRecord) -> dict[str, str]:
    """The tags that a file of many games holds, with the result that the source states."""
    check_tags(record.tags)
    stated = {} if record.stated_result is None else {RESULT_TAG: record.stated_result}
    return known_tags(record.tags) | stated


def load_games(path: str | PathLike[str]) -> list[GameRecord]:
    """The records of a file by :func:`save_games` or :func:`save_arrays`, checked by replay."""
    games, _ = load_arrays(path)
    starts = zip(games.boards, games.south_to_move, games.plies.tolist(), strict=True)
    states = [State.from_board(board, south, games.rules, ply) for board, south, ply in starts]
    moves = games.moves.tolist()
    ends = games.offsets.tolist()
    records = []
    for game, state in enumerate(states):
        tags = dict(games.tags[game]) if games.tags else {}
        stated = tags.pop(RESULT_TAG, None)
        played = tuple(moves[ends[game] : ends[game + 1]])
        try:
            own = known_tags(tags)
            record = GameRecord(played, state.to_text(), state.ply, games.rules, own)
            records.append(record if stated is None else record.with_result(stated))
        except OwareError as error:
            raise OwareError(f"{path}: game {game}: {error}") from None
    return records
