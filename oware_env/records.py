"""Games as they were played: one record, text in Oware Game Notation, files of many.

A record is a start, rules and moves; everything else (states, result) is played out from them,
so a record cannot disagree with the rules. What is read is checked move by move.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike

import numpy as np

from oware_env.errors import OwareError
from oware_env.game_arrays import GameArrays, load_arrays, replay, save_arrays
from oware_env.notation import START, move_letter, parse_move
from oware_env.ogn import RESULT, OgnGame, Word, check_tags, join_game, read_text, split_games
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

ROSTER = ("Event", "Site", "Date", "Round", "South", "North")  # written always, "?" when unknown
UNKNOWN = "?"
_WORKED_OUT = ("Variant", "Result", "FEN", "Ply", "MaxPlies")
_NUMBER = re.compile(r"\d+\.+")
_MARKED_MOVE = re.compile(r"(?P<letter>[A-Fa-f])\+(?P<captured>\d+)")


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
        record = cls((), state.to_text(), state.ply, state.rules, _known_tags(tags or {}))
        played = []
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
        result = _result(final)
        tags = {"Variant": "Abapa"} | {name: self.tags.get(name, UNKNOWN) for name in ROSTER}
        tags["Result"] = result
        if self.start != START:
            tags["FEN"] = self.start
        if self.ply:
            tags["Ply"] = str(self.ply)
        if self.rules != Rules():
            tags["MaxPlies"] = str(self.rules.max_plies)
        return join_game(tags | _known_tags(self.tags), [*words, result])

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
    variant, an illegal move (with its number), and for a ``+n`` mark or a result that is not
    what the moves give.
    """
    games = split_games(text)
    if not games:
        raise OwareError("the text holds no game: OGN has tags and moves such as 1. F f 2. E+2")
    return [_read_game(game) for game in games]


def load_ogn(path: str | PathLike[str]) -> list[GameRecord]:
    """The games of an OGN file. Raises as :func:`read_ogn` does, naming the file as well."""
    text = read_text(path)
    try:
        return read_ogn(text)
    except OwareError as error:
        raise OwareError(f"{path}: {error}") from None


def _read_game(game: OgnGame) -> GameRecord:
    variant = game.tags.get("Variant", Word("Abapa", game.line))
    if variant.text.lower() not in ("abapa", UNKNOWN):
        raise OwareError(f"line {variant.line}: Variant is {variant.shown!r}, only Abapa is played")
    start = state = _read_start(game)
    moves: list[int] = []
    claims = [game.tags["Result"]] if "Result" in game.tags else []
    for word in game.words:
        text = _NUMBER.sub("", word.text, count=1)
        if RESULT.fullmatch(text):
            claims.append(word)
        elif text:
            after = _read_move(state, Word(text, word.line), len(moves) + (not start.south_to_move))
            moves.append(parse_move(text[0], state.south_to_move))
            state = after
    for claim in claims:
        _check_result(claim, state)
    tags = {name: word.text for name, word in game.tags.items() if name not in _WORKED_OUT}
    return GameRecord(tuple(moves), start.to_text(), start.ply, start.rules, _known_tags(tags))


def _read_start(game: OgnGame) -> State:
    """The state the tags describe."""
    position = game.tags.get("FEN", Word(START, game.line))
    rules = Rules(max_plies=_whole_number(game, "MaxPlies", Rules().max_plies))
    try:
        return State.parse(position.shown, rules, _whole_number(game, "Ply", 0))
    except OwareError as error:
        raise OwareError(f"line {position.line}: {error}") from None


def _whole_number(game: OgnGame, name: str, default: int) -> int:
    word = game.tags.get(name, Word(str(default), game.line))
    if not re.fullmatch(r"[0-9]{1,10}", word.text):
        raise OwareError(f"line {word.line}: {name} must be a whole number, not {word.shown!r}")
    return int(word.text)


def _read_move(state: State, word: Word, count: int) -> State:
    """The state after a written move; ``count`` plies of the numbering went before it."""
    side = "South" if state.south_to_move else "North"
    place = f"line {word.line}, move {count // 2 + 1} of {side} ({word.shown})"
    marked = _MARKED_MOVE.fullmatch(word.text)
    try:
        after = state.play(marked["letter"] if marked else word.text)
    except OwareError as error:
        raise OwareError(f"{place}: {error}") from None
    captured = _captured(state, after)
    if marked and int(marked["captured"]) != captured:
        raise OwareError(
            f"{place} claims {marked['captured']} seeds captured, the move captures {captured}"
        )
    return after


def _check_result(claim: Word, final: State) -> None:
    """Raise when a claimed result is not what the moves give; ``*`` and ``?`` claim nothing."""
    if claim.text in ("*", UNKNOWN) or claim.text == _result(final):
        return
    if not RESULT.fullmatch(claim.text):
        raise OwareError(
            f"line {claim.line}: {claim.shown!r} is no result; one is South's seeds, '-' and "
            "North's, such as 27-21, or * for a game that is not over"
        )
    outcome = final.outcome
    given = "leave the game unfinished (*)"
    if outcome is not None:
        given = f"end {_result(final)} ({outcome.reason})"
    raise OwareError(
        f"line {claim.line}: the result is said to be {claim.shown}, the moves {given}"
    )


def _result(final: State) -> str:
    """Settled totals ``south-north``, or ``*``."""
    outcome = final.outcome
    return "*" if outcome is None else f"{outcome.scores[0]}-{outcome.scores[1]}"


def _captured(before: State, after: State) -> int:
    """Seeds the move between two states harvested."""
    return sum(after.stores) - sum(before.stores)


def _known_tags(tags: Mapping[str, str]) -> dict[str, str]:
    """A record's own tags: none that the game itself gives, none of the roster left unknown."""
    check_tags(tags)
    for name in _WORKED_OUT:
        if name in tags:
            raise OwareError(f"tag {name!r} is worked out from the game and cannot be given")
    return {name: text for name, text in tags.items() if name not in ROSTER or text != UNKNOWN}


def save_games(path: str | PathLike[str], records: Sequence[GameRecord]) -> None:
    """Write records of one rule set as a compact NPZ file, whole or not at all.

    For a million games that stand in arrays already, :func:`save_arrays` needs no records.
    """
    for number, record in enumerate(records):
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
        moves=np.array([move for record in records for move in record.moves], np.int64),
        offsets=np.concatenate(([0], np.cumsum(lengths, dtype=np.int64))),
        rules=records[0].rules if records else Rules(),
        tags=[dict(record.tags) for record in records],
    )
    save_arrays(path, games)


def load_games(path: str | PathLike[str]) -> list[GameRecord]:
    """The records of a file by :func:`save_games` or :func:`save_arrays`, checked by replay."""
    games, _ = load_arrays(path)
    starts = zip(games.boards, games.south_to_move, games.plies.tolist(), strict=True)
    states = [State.from_board(board, south, games.rules, ply) for board, south, ply in starts]
    moves = games.moves.tolist()
    ends = games.offsets.tolist()
    return [
        GameRecord(
            tuple(moves[ends[game] : ends[game + 1]]),
            state.to_text(),
            state.ply,
            games.rules,
            dict(games.tags[game]) if games.tags else {},
        )
        for game, state in enumerate(states)
    ]
