"""The words of one game of an OGN text given their meaning: start, moves, tags and result.

What our own rules cannot say is kept as the word of the file: a result where they reach none, as
of a game that was given up or that another program's rule for repetitions ended. Whatever
contradicts the rules is refused with its line and move.

Other programs' habits are read: the variant "Oware Abapa" and the last move's ``+n`` with the
seeds swept (Auale), numbers of moves or of plies, ``1... f``, lower-case letters for both sides,
marks such as ``!?`` or ``$1``, results such as ``1-0``.
"""

import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

from oware_env.errors import OwareError, shown
from oware_env.notation import START, parse_move
from oware_env.ogn import RESULT, OgnGame, Word
from oware_env.rules import SEEDS, Rules
from oware_env.state import State

ROSTER = ("Event", "Site", "Date", "Round", "South", "North")  # written always, "?" when unknown
RESULT_TAG = "Result"
WORKED_OUT = ("Variant", RESULT_TAG, "FEN", "Ply", "MaxPlies")
UNKNOWN = "?"

_VARIANTS = ("abapa", "oware abapa", UNKNOWN)
_KNOWN = {name.lower(): name for name in (*ROSTER, *WORKED_OUT)}
_LONGEST_POSITION = 40
_WHOLE = re.compile(r"0|[1-9][0-9]{0,9}")
_TOTALS = re.compile(r"(0|[1-9][0-9]?)-(0|[1-9][0-9]?)")
_WINNERS = {"1-0": "south", "0-1": "north", "1/2-1/2": None}
_OPEN = ("*", UNKNOWN)
_NUMBERED = re.compile(r"(?P<number>[0-9]*)(?P<dots>\.+)(?P<rest>.*)", re.DOTALL)
_REMARK = re.compile(r"\$[0-9]{1,3}|[!?]{1,2}")
_MOVE = re.compile(
    r"(?P<letter>[A-Fa-f])(?:\+(?P<captured>0|[1-9][0-9]?))?(?:[!?]{1,2})?(?:\$[0-9]{1,3})*"
)


class ReadGame(NamedTuple):
    """One game as it was read."""

    start: State
    moves: tuple[int, ...]
    tags: dict[str, str]  # all but those that the game itself gives
    stated_result: str | None  # where the moves reach none


def known_name(name: str) -> str:
    """A tag's name; one that differs from a known one by case only is that one."""
    return _KNOWN.get(name.lower(), name)


def read_game(game: OgnGame) -> ReadGame:
    """Read a game, move by move. Raises :class:`OwareError` naming the line."""
    tags = _read_tags(game)
    start = _read_start(tags, game.line)
    claims = [tags[RESULT_TAG]] if RESULT_TAG in tags else []
    played = _Played(start, _is_lower_case(game.words))
    for word in game.words:
        if RESULT.fullmatch(word.text):
            claims.append(word)
        else:
            played.read(word)
    stated = _read_results(claims, played.state)
    played.settle_last_mark(stated)
    kept = {name: word.text for name, word in tags.items() if name not in WORKED_OUT}
    return ReadGame(start, tuple(played.moves), kept, stated)


def _read_tags(game: OgnGame) -> dict[str, Word]:
    """The tags, the known ones by their own names."""
    tags: dict[str, Word] = {}
    for name, word in game.tags.items():
        known = known_name(name)
        if known in tags:
            raise OwareError(f"line {word.line}: tag {name!r} is {known!r}, which stands twice")
        tags[known] = word
    variant = tags.get("Variant", Word("Abapa", game.line))
    if variant.text.lower() not in _VARIANTS:
        raise OwareError(f"line {variant.line}: Variant is {variant.shown!r}, only Abapa is played")
    return tags


def _read_start(tags: Mapping[str, Word], line: int) -> State:
    """The state the tags describe."""
    position = tags.get("FEN", Word(START, line))
    if len(position.text.strip()) > _LONGEST_POSITION:
        raise OwareError(f"line {position.line}: {position.shown!r} is too long for a position")
    max_plies = _whole_number(tags, "MaxPlies", Word(str(Rules().max_plies), line))
    ply = _whole_number(tags, "Ply", Word("0", line))
    try:
        return State.parse(position.text, Rules(max_plies), ply)
    except OwareError as error:
        raise OwareError(f"line {position.line}: {error}") from None


def _whole_number(tags: Mapping[str, Word], name: str, default: Word) -> int:
    word = tags.get(name, default)
    if not _WHOLE.fullmatch(word.text):
        raise OwareError(f"line {word.line}: {name} must be a whole number, not {word.shown!r}")
    return int(word.text)


def _is_lower_case(words: list[Word]) -> bool:
    """Whether both sides' moves are written small, so that a letter does not tell the side."""
    letters = ""
    for word in words:
        numbered = _NUMBERED.fullmatch(word.text)
        move = _MOVE.fullmatch(numbered["rest"] if numbered else word.text)
        letters += move["letter"] if move else ""
    return len(letters) > 1 and letters.islower()


class _Played:
    """The moves read so far, each checked when it is read."""

    def __init__(self, start: State, lower_case: bool) -> None:
        self.state, self.moves = start, list[int]()
        self._lower_case = lower_case
        self._numbering = _Numbering(start)
        self._shift = not start.south_to_move
        self._mark: tuple[str, int, State] | None = None  # the last move's, when it does not fit

    def read(self, word: Word) -> None:
        """Read a number, a move, both in one, or a remark on a move."""
        text = word.text
        if numbered := _NUMBERED.fullmatch(text):
            self._numbering.read(numbered["number"], numbered["dots"], len(self.moves), word)
            text = numbered["rest"]
        if text and not (self.moves and _REMARK.fullmatch(text)):
            self._play(Word(text, word.line))

    def _play(self, word: Word) -> None:
        self._refuse_mark()
        before, count = self.state, len(self.moves) + self._shift
        side = "South" if before.south_to_move else "North"
        place = f"line {word.line}, move {count // 2 + 1} of {side} ({word.shown})"
        written = _MOVE.fullmatch(word.text)
        letter = written["letter"] if written else word.text
        if written and self._lower_case and before.south_to_move:
            letter = letter.upper()
        try:
            self.state = before.play(letter)
        except OwareError as error:
            raise OwareError(f"{place}: {error}") from None
        self.moves.append(parse_move(letter, before.south_to_move))
        if written and written["captured"]:
            captured = sum(self.state.stores) - sum(before.stores)
            if int(written["captured"]) != captured:
                said = f"{place} claims {written['captured']} seeds captured, "
                said += f"the move captures {captured}"
                self._mark = said, int(written["captured"]), before

    def settle_last_mark(self, stated_result: str | None) -> None:
        """Raise for a mark that is not what the move captures.

        Only where the file ends the game may the last one hold the seeds that its totals add.
        """
        if self._mark and stated_result and (totals := _TOTALS.fullmatch(stated_result)):
            _, marked, before = self._mark
            seat = 0 if before.south_to_move else 1
            if int(totals[seat + 1]) - before.stores[seat] == marked:
                return
        self._refuse_mark()

    def _refuse_mark(self) -> None:
        if self._mark:
            raise OwareError(self._mark[0])


class _Numbering:
    """Whether numbers before moves count as they should, in one of the ways in use.

    They begin at 1; where the game starts from another position, anywhere.
    """

    # From the plies played so far: number of the move, and whether it is the second of a pair.
    _WAYS: tuple[Callable[[int, bool], tuple[int, bool | None]], ...] = (
        lambda ply, north: ((ply + north) // 2, bool((ply + north) % 2)),  # South's and North's
        lambda ply, north: (ply // 2, bool(ply % 2)),  # the first mover's and the other's
        lambda ply, north: (ply, None),  # every ply, with none left out
    )

    def __init__(self, start: State) -> None:
        self._north = not start.south_to_move
        first = 1 if start.to_text() == START and not start.ply else None
        self._first: list[int | None] = [first] * len(self._WAYS)  # number of the first move
        self._possible = set(range(len(self._WAYS)))
        self._numbered = 0  # moves that have a number

    def read(self, number: str, dots: str, ply: int, word: Word) -> None:
        """Check a number, or dots alone, before move ``ply`` (from 0) of the game."""
        if len(dots) > 3 or len(number) > 6 or number.startswith("0"):
            raise OwareError(f"line {word.line}: {word.shown!r} is no number of a move")
        left = {way for way in self._possible if self._fits(way, number, dots, ply)}
        if not left:
            raise OwareError(f"line {word.line}: {self._complaint(word, ply)}")
        self._possible = left
        if number:
            self._numbered += 1
            for way in left:
                self._first[way] = int(number) - self._WAYS[way](ply, self._north)[0]

    def _fits(self, way: int, number: str, dots: str, ply: int) -> bool:
        count, is_second = self._WAYS[way](ply, self._north)
        if (len(dots) > 1 and not is_second) or (is_second is None and self._numbered != ply):
            return False
        first = self._first[way]
        least = int(number) - count if number else 1
        return least >= 1 if first is None else not number or least == first

    def _complaint(self, word: Word, ply: int) -> str:
        way = min(self._possible)
        count, is_second = self._WAYS[way](ply, self._north)
        expected = f"{(self._first[way] or 1) + count}{'...' if is_second else '.'}"
        return f"{word.shown!r} stands where move {expected} belongs"


def _read_results(claims: list[Word], final: State) -> str | None:
    """The result that the file states where the moves reach none; all claims must hold."""
    stated: dict[str, Word] = {}
    for claim in claims:
        try:
            found = check_result(claim.text, final)
        except OwareError as error:
            raise OwareError(f"line {claim.line}: {error}") from None
        if found is not None:
            stated[found] = claim
    if len(stated) > 1:
        (one, first), (other, second) = stated.items()
        raise OwareError(
            f"line {second.line}: the result is said to be {other}, in line {first.line} {one}"
        )
    return next(iter(stated), None)


def check_result(text: str, final: State) -> str | None:
    """The result that a text states, where the game's last state has none; None otherwise.

    South's and North's seeds such as ``27-21``, or who won (``1-0``, ``0-1``, ``1/2-1/2``); ``*``
    and ``?`` state nothing. Raises :class:`OwareError` for what is no result, differs from the one
    that the rules reach, or leaves a side fewer seeds than its store holds.
    """
    if text in _OPEN:
        return None
    totals = _TOTALS.fullmatch(text)
    if text not in _WINNERS and not totals:
        raise OwareError(
            f"{Word(text, 0).shown!r} is no result; one is South's seeds, '-' and "
            "North's, such as 27-21, or * for a game that is not over"
        )
    outcome = final.outcome
    if outcome is not None:
        same = outcome.winner == _WINNERS[text] if text in _WINNERS else text == result_of(final)
        if same:
            return None
        given = f"end {result_of(final)} ({outcome.reason})"
        raise OwareError(f"the result is said to be {text}, the moves {given}")
    if text not in _WINNERS and totals:
        seeds = int(totals[1]), int(totals[2])
        south, north = final.stores
        if seeds[0] < south or seeds[1] < north or sum(seeds) > SEEDS:
            raise OwareError(
                f"the result is said to be {text}, the moves leave the game unfinished (*) at "
                f"{south}-{north} with {sum(final.houses)} seeds on the board"
            )
    return text


def result_of(final: State) -> str:
    """Settled totals ``south-north`` that the rules reach, or ``*``."""
    outcome = final.outcome
    return "*" if outcome is None else f"{outcome.scores[0]}-{outcome.scores[1]}"


def known_tags(tags: Mapping[str, str]) -> dict[str, str]:
    """A record's own tags: none that the game itself gives, none of the roster left unknown.

    Raises :class:`OwareError` for one that the game gives or that is spelled otherwise.
    """
    for name in tags:
        known = known_name(name) if isinstance(name, str) else name
        if known in WORKED_OUT:
            raise OwareError(f"tag {name!r} is worked out from the game and cannot be given")
        if known != name:
            raise OwareError(f"tag {shown(name)} is spelled {known!r}")
    return {name: text for name, text in tags.items() if name not in ROSTER or text != UNKNOWN}
