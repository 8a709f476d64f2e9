"""Many games as flat arrays and as an NPZ file: a million games with no Python per game.

All checks replay the games in one compiled loop. A file says what it is (format, rules, what its
maker adds), holds nothing pickled, and is written whole or not at all.
"""

import io
import json
import math
import os
import struct
import warnings
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from oware_env.batch import seat_scores
from oware_env.errors import OwareError, shown
from oware_env.files import parse_json, said, write_whole
from oware_env.kernel import kernel
from oware_env.ogn import check_tags
from oware_env.positions import as_array
from oware_env.rules import BOARD, REASONS, RUNNING, SEEDS, Rules, play, require_abapa, status
from oware_env.state import State

FORMAT = "oware games"
VERSION = 1
_COLUMNS = {
    "boards": np.int8,
    "south_to_move": np.bool_,
    "plies": np.int32,
    "moves": np.int8,
    "offsets": np.int64,
}
_LONGEST = 100  # characters of a reason that a library gives
_COMPRESSIONS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_HEADERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}
# Games grow ten to a hundred times when unpacked; a file that grows more was made to fill memory.
_GROWTH, _HARMLESS = 300, 2**30
# Whatever zipfile, zlib and numpy raise on bytes that are no (longer a) file of arrays.
_UNREADABLE = (
    ValueError,
    LookupError,
    EOFError,
    MemoryError,
    OverflowError,
    RuntimeError,
    Warning,
    struct.error,
    zlib.error,
    zipfile.BadZipFile,
)


class GameArrays(NamedTuple):
    """G games of one rule set; M is the number of all their moves."""

    boards: np.ndarray  # int8[G, 14], the start as its side to move sees it
    south_to_move: np.ndarray  # bool[G], who that side is
    plies: np.ndarray  # int32[G], ply of the start
    moves: np.ndarray  # int8[M], the games' moves 0-5 one after another
    offsets: np.ndarray  # int64[G + 1], game g has moves[offsets[g]:offsets[g + 1]]
    rules: Rules = Rules()
    tags: Sequence[Mapping[str, str]] = ()  # one a game, or none at all
    about: Mapping[str, Any] | None = None  # what the maker adds (seed, commit, ...), as JSON


class GameResults(NamedTuple):
    """How G games ended."""

    scores: np.ndarray  # int8[G, 2], (South, North): settled totals; stores of an unfinished game
    reasons: np.ndarray  # int8[G], codes of rules.REASONS; 0 (running) when unfinished


@kernel
def _replay(games, max_plies, scores, reasons):
    """Play all games out and fill in the results; the first illegal move's index, or -1."""
    boards, south_to_move, plies, moves, offsets = games
    for game in range(len(boards)):
        board, ply = boards[game].copy(), np.int64(plies[game])
        south = south_to_move[game]
        code = status(board, ply, max_plies)
        for index in range(offsets[game], offsets[game + 1]):
            move = moves[index]
            if move < 0 or move > 5 or not code >> move & 1:
                return index
            play(board, move)
            ply += 1
            south = not south
            code = status(board, ply, max_plies)
        reasons[game] = code >> 6
        if code >> 6 != RUNNING:
            scores[game, 0], scores[game, 1] = seat_scores(board, code >> 6, south)
        else:
            scores[game, 0] = board[12] if south else board[13]
            scores[game, 1] = board[13] if south else board[12]
    return -1


def replay(games: GameArrays) -> GameResults:
    """Check every start and every move, and give the results.

    Raises :class:`OwareError` naming the first game (from 0) and move (from 1) at fault.
    """
    return _play_out(_checked(games))


def _play_out(games: GameArrays) -> GameResults:
    count = len(games.boards)
    results = GameResults(np.zeros((count, 2), np.int8), np.zeros(count, np.int8))
    index = _replay(tuple(games[:5]), games.rules.max_plies, *results)
    if index >= 0:
        _raise_illegal(games, int(index))
    return results


def _checked(games: GameArrays) -> GameArrays:
    """The games with the documented types; raises for arrays that do not fit together."""
    if not isinstance(games, GameArrays):
        raise OwareError(f"games must be a GameArrays, not {shown(games)}")
    rules = require_abapa(games.rules)
    columns = {name: _column(name, getattr(games, name)) for name in _COLUMNS}
    _check_shapes({name: column.shape for name, column in columns.items()})
    boards, south_to_move, plies, moves, offsets = columns.values()
    ends = offsets[[0, -1]].tolist()
    if ends != [0, moves.size] or (offsets[1:] < offsets[:-1]).any():
        raise OwareError(f"offsets must rise from 0 to the {moves.size} moves, not {ends}")
    games = GameArrays(boards, south_to_move, plies, moves, offsets, rules, games.tags, games.about)
    _check_words(games)
    _check_starts(games)
    return games


def _check_shapes(shapes: Mapping[str, tuple[int, ...]]) -> None:
    """Raise unless the shapes, by column, are those of the same games."""
    count, moves = math.prod(shapes["plies"]), math.prod(shapes["moves"])
    wanted = {
        "boards": (count, BOARD),
        "south_to_move": (count,),
        "plies": (count,),
        "moves": (moves,),
        "offsets": (count + 1,),
    }
    for name, shape in wanted.items():
        if shapes[name] != shape:
            raise OwareError(f"{name} must have shape {shape}, not {shapes[name]}")


def _check_words(games: GameArrays) -> None:
    """Raise for tags that are no text, and for what its maker adds when that is no JSON."""
    tags, count = games.tags, len(games.boards)
    if not isinstance(tags, Sequence) or isinstance(tags, str | bytes):
        raise OwareError(f"tags must be a list of names and values, not {shown(tags)}")
    if len(tags) not in (0, count):
        raise OwareError(f"tags must be one a game ({count}) or none, not {len(tags)}")
    for game, named in enumerate(tags):
        try:
            check_tags(named)
        except OwareError as error:
            raise OwareError(f"game {game}: {error}") from None
    if games.about is not None and not isinstance(games.about, Mapping):
        raise OwareError(f"about must be names and values, not {shown(games.about)}")
    _as_json(games.about)


def _as_json(about: Mapping[str, Any] | None) -> str:
    try:
        return json.dumps(about, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        why = " ".join(str(error).split())
        raise OwareError(f"about must be what JSON can hold: {why}") from None


def _column(name: str, values: Any) -> np.ndarray:
    """Values as a contiguous array of the documented type; raises when that would change them."""
    dtype = np.dtype(_COLUMNS[name])
    values = as_array(name, values)
    if values.dtype.kind not in ("b" if dtype.kind == "b" else "iu"):
        raise OwareError(f"{name} must be {dtype}, not {values.dtype}")
    column = np.ascontiguousarray(values, dtype)
    same = column.dtype == values.dtype or np.array_equal(column, values)
    if not same or (dtype.kind == "b" and (column.view(np.uint8) > 1).any()):
        raise OwareError(f"{name} holds a number that {dtype} cannot")
    return column


def _check_starts(games: GameArrays) -> None:
    """Raise for the first start that cannot stand; only suspicious ones are looked at singly."""
    boards, plies = games.boards, games.plies
    suspicious = (boards.sum(axis=1, dtype=np.int64) != SEEDS) | (boards < 0).any(axis=1)
    suspicious |= ~boards[:, :6].any(axis=1) | (plies < 0) | (plies > games.rules.max_plies)
    for game in np.flatnonzero(suspicious):
        try:
            _start(games, int(game))
        except OwareError as error:
            raise OwareError(f"game {game}: {error}") from None


def _start(games: GameArrays, game: int) -> State:
    south, ply = bool(games.south_to_move[game]), int(games.plies[game])
    return State.from_board(games.boards[game], south, games.rules, ply)


def _raise_illegal(games: GameArrays, index: int) -> None:
    """Say in words why the move at ``index`` cannot be played."""
    game = int(np.searchsorted(games.offsets, index, side="right")) - 1
    state = _start(games, game)
    for number, move in enumerate(games.moves[games.offsets[game] : index + 1].tolist(), 1):
        try:
            state = state.play(move)
        except OwareError as error:
            raise OwareError(f"game {game}, move {number}: {error}") from None


def save_arrays(path: str | os.PathLike[str], games: GameArrays) -> GameResults:
    """Check the games and write them to ``path``; returns their results.

    A file that stands there is replaced in one step, or left as it is when the disk is full:
    then :class:`OwareError` says so.
    """
    games = _checked(games)
    results = _play_out(games)
    columns = {name: getattr(games, name) for name in _COLUMNS} | results._asdict()
    about = {
        "format": FORMAT,
        "version": VERSION,
        "rules": games.rules._asdict(),
        "about": games.about,
        "tags": [dict(tags) for tags in games.tags] if any(games.tags) else [],
    }
    text = _as_json(about).encode()
    write_whole(path, _packed(columns | {"metadata": np.frombuffer(text, np.uint8)}))
    return results


def _packed(columns: Mapping[str, np.ndarray]) -> memoryview:
    """The bytes of an NPZ file.

    In memory: a zip file that meets a full disk half-way cannot be closed cleanly. Not by
    np.savez_compressed: its level 6 takes more than ten times as long to save a tenth of the bytes.
    """
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, column in columns.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, column, allow_pickle=False)
    return packed.getbuffer()


def load_arrays(path: str | os.PathLike[str]) -> tuple[GameArrays, GameResults]:
    """The games of a file and their results, checked by replay.

    Raises one-line :class:`OwareError` for a file that is missing, damaged or something else.
    """
    try:
        with said(path, "cannot be read"):
            columns, metadata = _read(Path(path))
    except OwareError:
        raise
    except _UNREADABLE as error:
        why = " ".join(str(error).split())[:_LONGEST] or type(error).__name__
        raise OwareError(f"{path} is not a whole file of games: {why}") from None
    try:
        games = _from_metadata(columns, metadata)
        results = replay(games)
        _compare(results, columns)
    except OwareError as error:
        raise OwareError(f"{path}: {error}") from None
    return games, results


def _read(path: Path) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """All columns and the metadata of a file."""
    with path.open("rb") as file, warnings.catch_warnings():
        warnings.simplefilter("error")  # of numpy, about headers that nothing here writes
        if file.read(2) != b"PK":
            raise ValueError("it is no NPZ file")
        file.seek(0)
        with zipfile.ZipFile(file) as archive:
            _check_members(archive, path.stat().st_size)
            names = [*_COLUMNS, *GameResults._fields]
            columns = {name: _member(archive, name) for name in names}
            text = _member(archive, "metadata")
    if text.dtype != np.uint8 or text.ndim != 1:
        raise ValueError(f"its metadata is {text.dtype} of shape {text.shape}, no text")
    metadata = parse_json(text.tobytes())
    if not isinstance(metadata, dict) or metadata.get("format") != FORMAT:
        raise ValueError(f"its metadata does not say {FORMAT!r}")
    return columns, metadata


def _check_members(archive: zipfile.ZipFile, size: int) -> None:
    """Raise, before anything large is read, when the arrays are not as a file of games has them.

    ``size``: bytes of the whole file.
    """
    shapes, total = {}, 0
    for name in (*_COLUMNS, *GameResults._fields, "metadata"):
        member = archive.getinfo(f"{name}.npy")
        if member.compress_type not in _COMPRESSIONS:
            raise ValueError(f"{name} is compressed in another way than deflate")
        with archive.open(member) as content:
            shapes[name], dtype = _header(content, name)
            length = content.tell() + math.prod(shapes[name]) * dtype.itemsize
        if dtype.kind not in "iufb" or length != member.file_size:
            raise ValueError(f"{name} does not hold the numbers it is said to hold")
        total += member.file_size
    if total > _HARMLESS and total > _GROWTH * size:
        raise ValueError(f"its {size} bytes would grow to {total}")
    try:
        _check_shapes(shapes)
    except OwareError as error:
        raise ValueError(str(error)) from None


def _header(content: Any, name: str) -> tuple[tuple[int, ...], np.dtype]:
    """The shape and the type that an array in a file is said to have."""
    version = np.lib.format.read_magic(content)
    if version not in _HEADERS:
        raise ValueError(f"{name} is an array of version {version}")
    try:
        shape, _, dtype = _HEADERS[version](content)
    except Exception:  # it is a Python expression: numpy lets through whatever its parsers raise
        raise ValueError(f"{name} does not say what it holds") from None
    return shape, dtype


def _member(archive: zipfile.ZipFile, name: str) -> np.ndarray:
    with archive.open(f"{name}.npy") as content:
        array = np.lib.format.read_array(content, allow_pickle=False)
        content.read(1)  # at the end the checksum is compared
    return array


def _from_metadata(columns: dict[str, np.ndarray], metadata: dict[str, Any]) -> GameArrays:
    version = metadata.get("version")
    if type(version) is not int or version != VERSION:
        raise OwareError(f"format version is {shown(version)}, this reads {VERSION}")
    stated = metadata.get("rules")
    if not isinstance(stated, dict) or set(stated) != set(Rules._fields):
        raise OwareError(f"rules must state {', '.join(Rules._fields)}, not {shown(stated)}")
    tags = metadata.get("tags")
    if not isinstance(tags, list) or not all(isinstance(one, dict) for one in tags):
        raise OwareError(f"tags must be a list of names and values, not {shown(tags)}")
    boards, south_to_move, plies, moves, offsets = (columns[name] for name in _COLUMNS)
    return GameArrays(
        boards, south_to_move, plies, moves, offsets, Rules(**stated), tags, metadata.get("about")
    )


def _compare(results: GameResults, columns: Mapping[str, np.ndarray]) -> None:
    """Raise when the stored results are not those of the moves."""
    for name, replayed in results._asdict().items():
        stored = columns[name]
        if (stored.dtype, stored.shape) != (replayed.dtype, replayed.shape):
            raise OwareError(f"{name} must be {replayed.dtype} of shape {replayed.shape}")
    differs = (columns["scores"] != results.scores).any(axis=1)
    differs |= columns["reasons"] != results.reasons
    if differs.any():
        game = int(np.flatnonzero(differs)[0])
        south, north = results.scores[game]
        reason = REASONS[results.reasons[game]]
        raise OwareError(
            f"game {game} ends {south}-{north} ({reason}), not as the file says: "
            f"{columns['scores'][game].tolist()}, reason {columns['reasons'][game]}"
        )
