"""Hostile files of games: the right structure, contents that cannot be, and one line for each."""

import io
import json
import os
import zipfile

import numpy as np
import pytest

from oware_env.errors import OwareError
from oware_env.game_arrays import GameArrays, load_arrays, replay, save_arrays
from oware_env.records import GameRecord, load_games, load_ogn, save_games
from oware_env.rules import Rules
from oware_env.state import State

GAMES = [GameRecord.from_moves("FfEcCc", tags={"South": "Ama"}), GameRecord.from_moves("A")]
MOST, LEAST = 2**63 - 1, -(2**63)


def refused(function, *arguments):
    """The one line that ``function`` refuses its arguments with."""
    with pytest.raises(OwareError) as caught:
        function(*arguments)
    message = str(caught.value)
    assert "\n" not in message and len(message) < 500
    return message


@pytest.fixture(scope="module")
def columns(tmp_path_factory):
    """The arrays of a whole file."""
    path = tmp_path_factory.mktemp("games") / "games.npz"
    save_games(path, GAMES)
    with np.load(path) as archive:
        return dict(archive)


def about(**changes):
    """Metadata with some things changed."""
    fields = {"format": "oware games", "version": 1, "rules": Rules()._asdict(), "tags": []}
    return text(json.dumps(fields | {"about": None} | changes))


def text(content):
    return np.frombuffer(content.encode(), np.uint8)


def rules(**changes):
    return about(rules=Rules()._asdict() | changes)


# A sum of steps that never fall, and yet not in order: int64 wraps from its end to its start.
WRAPPING = {
    "offsets": np.array([0, MOST, LEAST, -(2**62), 0, 7]),
    "plies": np.zeros(5, np.int32),
    "boards": np.tile(State.initial().board, (5, 1)),
    "south_to_move": np.ones(5, np.bool_),
    "scores": np.zeros((5, 2), np.int8),
    "reasons": np.zeros(5, np.int8),
}
HOSTILE = {
    "offsets that wrap": (WRAPPING, "offsets must rise from 0 to the 7 moves"),
    "offsets out of range": ({"offsets": np.array([0, 100, 7])}, "offsets must rise"),
    "offsets beyond int64": (
        {"offsets": np.array([0, 2**64 - 1, 7], np.uint64)},
        "offsets holds a number that int64 cannot",
    ),
    "no number of games": ({"plies": np.array(3, np.int32)}, "boards must have shape (1, 14)"),
    "a side that is neither": (
        {"south_to_move": np.array([2, 255], np.uint8).view(np.bool_)},
        "south_to_move holds a number that bool cannot",
    ),
    "letters for moves": ({"moves": np.array(["F"] * 7)}, "moves does not hold the numbers"),
    "objects for moves": ({"moves": np.array([None] * 7)}, "moves does not hold the numbers"),
    "complex moves": ({"moves": np.zeros(7, complex)}, "moves does not hold the numbers"),
    "results of no game": ({"scores": np.zeros((0, 2), np.int8)}, "scores must be int8 of shape"),
    "no text": ({"metadata": np.zeros(3)}, "its metadata is float64 of shape (3,), no text"),
    "text in rows": ({"metadata": np.zeros((3, 3), np.uint8)}, "its metadata is uint8 of shape"),
    "nested too deep": ({"metadata": text("[" * 50_000)}, "it is nested too deep"),
    "too many digits": ({"metadata": text("9" * 5000)}, "is not a whole file of games"),
    "not a number": ({"metadata": about(about={"x": float("nan")})}, "about must be what JSON can"),
    "infinity": ({"metadata": about(about={"x": float("inf")})}, "about must be what JSON can"),
    "about in a row": ({"metadata": about(about=[1])}, "about must be names and values, not [1]"),
    "a version of true": ({"metadata": about(version=True)}, "format version is True"),
    "rules of false": ({"metadata": rules(slam=False)}, "slam must be a whole number, not False"),
    "rules of floats": ({"metadata": rules(max_plies=400.0)}, "a whole number, not 400.0"),
    "rules of infinity": ({"metadata": rules(max_plies=float("inf"))}, "a whole number, not inf"),
    "huge rules": ({"metadata": rules(max_plies=10**100)}, "max_plies must be between 1 and"),
    "rules in a row": ({"metadata": about(rules=[1])}, "rules must state max_plies, slam"),
    "tags of numbers": (
        {"metadata": about(tags=[{}, {"South": 3}])},
        "game 1: tag 'South' must be one line of text, not 3",
    ),
    "tags of half a letter": ({"metadata": about(tags=[{"South": "\ud800"}, {}])}, "game 0: tag"),
    "tags of control": ({"metadata": about(tags=[{"South": "\x1b[2J"}, {}])}, "'\\x1b[2J'"),
    "tags that the game gives": ({"metadata": about(tags=[{"FEN": "x"}, {}])}, "worked out from"),
    "a result that cannot be": (
        {"metadata": about(tags=[{"Result": "40-9"}, {}])},
        "game 0: the result is said to be 40-9",
    ),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_contents_are_one_line(name, columns, tmp_path):
    changes, message = HOSTILE[name]
    path = tmp_path / "games.npz"
    np.savez(path, **(columns | changes))
    found = refused(load_games, path)
    assert message in found and found.startswith(str(path)), found


def member(array):
    content = io.BytesIO()
    np.lib.format.write_array(content, array)
    return content.getvalue()


def header(expression, data=b""):
    """An array in a file whose header says what it likes."""
    said = expression.encode()
    said += b" " * (-(len(said) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(said).to_bytes(2, "little") + said + data


def says(shape, descr="'|i1'"):
    return f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}"


@pytest.mark.parametrize(
    ("moves", "message"),
    [
        (header(says("(10**12,)")), "moves does not say what it holds"),
        (header(says("(1000000000000,)")), "moves does not hold the numbers"),
        (header(says("(-7,)"), b"\0" * 7), "moves does not hold the numbers"),
        (header(says("(7,)", "'|O'"), b"\0" * 56), "moves does not hold the numbers"),
        (header(says("(1,)", "('|i1', (7,))"), b"\0" * 7), "moves does not hold the numbers"),
        (header(says("(7L,)"), b"\0" * 7), "moves does not say what it holds"),
        (header(says("(7,)", "[3]"), b"\0" * 7), "moves does not say what it holds"),
        (header("{'descr': " + "[" * 5000), "moves does not say what it holds"),
        (header("(" * 9000), "moves does not say what it holds"),
        (b"\x93NUMPY\x09\x00" + bytes(118), "moves is an array of version (9, 0)"),
        (b"", "is not a whole file of games"),
    ],
)
def test_an_array_that_is_not_what_it_says_is_one_line(moves, message, columns, tmp_path):
    path = tmp_path / "games.npz"
    with zipfile.ZipFile(path, "w") as archive:
        for name, column in columns.items():
            archive.writestr(f"{name}.npy", moves if name == "moves" else member(column))
    assert message in refused(load_games, path)


@pytest.mark.parametrize("compression", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_another_compression_is_refused(compression, columns, tmp_path):
    path = tmp_path / "games.npz"
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, column in columns.items():
            archive.writestr(f"{name}.npy", member(column))
    assert "boards is compressed in another way than deflate" in refused(load_games, path)


def test_a_file_made_to_fill_the_memory_is_refused_before_it_is_read(columns, tmp_path):
    path, count = tmp_path / "games.npz", 2 * 10**9
    moves = header(says(f"({count},)"))
    with zipfile.ZipFile(path, "w") as archive:
        for name, column in columns.items():
            archive.writestr(f"{name}.npy", moves if name == "moves" else member(column))
    content = path.read_bytes()
    size = content.rindex(b"moves.npy") - 22  # where the directory says how large it will be
    said = (len(moves) + count).to_bytes(4, "little")
    path.write_bytes(content[:size] + said + content[size + 4 :])
    assert "bytes would grow to 2000" in refused(load_games, path)


@pytest.mark.parametrize(
    "change",
    [
        {"moves": None},
        {"boards": [[1], [2, 3]]},
        {"plies": "x"},
        {"rules": None},
        {"rules": Rules(400, False)},
        {"tags": None},
        {"tags": "ab"},
        {"tags": [None, None]},
        {"about": 3},
        {"about": {"x": object()}},
        {"about": {"x": 1e999}},
    ],
    ids=lambda change: " ".join(change),
)
def test_arrays_of_anything_are_one_line_and_leave_no_file(change, columns, tmp_path):
    games = GameArrays(*(columns[name] for name in GameArrays._fields[:5]))
    replay(games)
    refused(save_arrays, tmp_path / "games.npz", games._replace(**change))
    assert list(tmp_path.iterdir()) == []


def test_what_is_no_game_is_not_saved(tmp_path):
    assert "games must be a GameArrays" in refused(replay, None)
    assert "game 1 must be a GameRecord" in refused(save_games, tmp_path / "x", [GAMES[0], "F"])
    halves = GameRecord((2.5,))
    assert "moves must be int8, not float64" in refused(save_games, tmp_path / "x", [halves])


def test_rules_of_numpy_integers_are_saved_as_plain_ones(columns, tmp_path):
    games = GameArrays(*(columns[name] for name in GameArrays._fields[:5]), Rules(np.int64(300)))
    save_arrays(tmp_path / "games.npz", games)
    assert load_arrays(tmp_path / "games.npz")[0].rules == Rules(300)


@pytest.mark.parametrize("name", ["", ".", "a\0b", "a" * 300])
def test_a_name_that_no_file_has_is_one_line(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for load in (load_games, load_arrays, load_ogn):
        assert "cannot be read" in refused(load, name)
    assert "cannot be written" in refused(save_games, name, GAMES)
    assert list(tmp_path.iterdir()) == []


def test_a_device_is_not_replaced_by_a_file(tmp_path):
    pipe = tmp_path / "pipe"
    try:
        os.mkfifo(pipe)
    except (AttributeError, OSError):
        pytest.skip("this system makes no pipes")
    assert "it is no regular file" in refused(save_games, pipe, GAMES)
    assert pipe.is_fifo()
