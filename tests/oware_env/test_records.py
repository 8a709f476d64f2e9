"""Game records: OGN text both ways, files of many games, and everything that is refused."""

import io
import json
import pickle
import re
import resource
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oware_env.errors import OwareError
from oware_env.notation import START
from oware_env.records import (
    GameArrays,
    GameRecord,
    load_arrays,
    load_games,
    read_ogn,
    replay,
    save_arrays,
    save_games,
)
from oware_env.rules import AWARI, Rules
from oware_env.state import State

GOLDEN = Path(__file__).parent.parent / "golden" / "games.jsonl"
GAMES = [json.loads(line) for line in GOLDEN.read_text().splitlines()]
HEADER = '[South "Ama"]\n[North "Kofi"]\n\n'
NEAR_END = "0-0-0-0-0-2-1-2-4-4-0-0-20-15-S"  # F takes b and a: 25 for South


@st.composite
def records(draw) -> GameRecord:
    """A random game from a random start, of any length, with any tags."""
    rules = Rules(max_plies=draw(st.integers(30, 400)))
    choose = draw(st.randoms(use_true_random=False))
    state = State.initial(rules)
    for _ in range(draw(st.integers(0, 20))):
        state = state if state.is_over else state.play(choose.choice(state.legal_moves))
    start, moves = state, []
    for _ in range(draw(st.integers(0, 400))):
        if state.is_over:
            break
        moves.append(choose.choice(state.legal_moves))
        state = state.play(moves[-1])
    text = st.text(st.characters(exclude_categories=["C", "Z"], include_characters=' "\\'))
    names = st.sampled_from(["South", "North", "Event", "Date", "Annotator", "TimeControl"])
    tags = draw(st.dictionaries(names, text.filter(lambda value: value != "?"), max_size=4))
    return GameRecord.from_moves(moves, start, tags=tags)


def refused(text: str) -> str:
    """The message with which a text is refused: one line."""
    with pytest.raises(OwareError) as caught:
        read_ogn(text)
    message = str(caught.value)
    assert "\n" not in message
    return message


@pytest.mark.parametrize("game", GAMES, ids=lambda game: game["id"])
def test_golden_games_end_as_they_should_and_survive_both_formats(game, tmp_path):
    record = GameRecord.from_moves(game["moves"], tags={"Event": game["what"]})
    numbers = [int(number) for number in re.findall(r"\d+", game["result"])[:14]]
    assert [*record.final.houses, *record.final.stores] == numbers
    assert GameRecord.from_ogn(record.to_ogn()) == record
    save_games(tmp_path / "games.npz", [record])
    assert load_games(tmp_path / "games.npz") == [record]


@given(records())
def test_ogn_text_loses_nothing(record):
    text = record.to_ogn()
    again = GameRecord.from_ogn(text)
    assert again == record and hash(again) == hash(record)
    assert again.to_ogn() == text
    assert max(map(len, text.partition("\n\n")[2].splitlines())) < 80
    assert read_ogn(text.replace("\n", "\r\n") + "\r\n" + text) == [record, record]


@given(st.lists(records(), max_size=5))
def test_files_of_games_lose_nothing(tmp_path_factory, games):
    games = [game for game in games if game.rules == games[0].rules]
    path = tmp_path_factory.mktemp("games") / "games.npz"
    save_games(path, games)
    assert load_games(path) == games
    _, results = load_arrays(path)
    for game, scores in zip(games, results.scores.tolist(), strict=True):
        outcome = game.outcome
        assert tuple(scores) == (outcome.scores if outcome else game.final.stores)


def test_a_record_plays_out_its_states():
    record = GameRecord.from_moves("FfEc")
    states = list(record.states())
    assert len(states) == 5 and states[0] == State.initial() and states[-1] == record.final
    assert record.outcome is None
    assert GameRecord.from_moves([5, np.int8(5), 4, "c"]) == record
    over = GameRecord.from_moves("F", NEAR_END)
    assert over.outcome.winner == "south" and over.outcome == over.final.outcome


def test_ogn_text_looks_as_in_the_reference():
    record = GameRecord.from_moves(
        "F", NEAR_END, ply=7, rules=Rules(50), tags={"South": "Ama", "Round": "3"}
    )
    assert record.to_ogn().splitlines() == [
        '[Variant "Abapa"]',
        '[Event "?"]',
        '[Site "?"]',
        '[Date "?"]',
        '[Round "3"]',
        '[South "Ama"]',
        '[North "?"]',
        '[Result "25-15"]',
        f'[FEN "{NEAR_END}"]',
        '[Ply "7"]',
        '[MaxPlies "50"]',
        "",
        "1. F+5 25-15",
    ]


def test_a_game_that_north_begins_is_numbered_so():
    record = GameRecord.from_moves("fAa", START[:-1] + "N")
    assert record.to_ogn().splitlines()[-1] == "1... f 2. A a *"
    assert GameRecord.from_ogn(record.to_ogn()) == record


def test_the_largest_limit_survives():
    record = GameRecord.from_moves("Ff", rules=Rules(2**31 - 1))
    assert GameRecord.from_ogn(record.to_ogn()) == record


def test_comments_variations_and_line_ends_are_skipped():
    text = (
        '\ufeff; a file by hand\r\n[South "Ama"]\r\n\r\n{ opens (quietly } 1.F f ; 1... a\r\n'
        "(1... b 2. E (2. D { worse ) } d) 2. C) 2. E\r\n{ two\r\nlines } c 3.C c *\r\n"
    )
    assert read_ogn(text) == [GameRecord.from_moves("FfEcCc", tags={"South": "Ama"})]


def test_several_games_are_told_apart():
    text = f'{HEADER}1. F f\n{HEADER}1. E *\n1. D d\n\n[FEN "{NEAR_END}"]\n'
    first, second, third, fourth = read_ogn(text)
    assert first.tags == second.tags == {"South": "Ama", "North": "Kofi"}
    assert [first.moves, second.moves, third.moves] == [(5, 5), (4,), (3, 3)]
    assert fourth == GameRecord.from_moves("", NEAR_END)
    with pytest.raises(OwareError, match="holds 4 games, not one"):
        GameRecord.from_ogn(text)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("", ["holds no game"]),
        (" \n{ only words }\n", ["holds no game"]),
        (HEADER + "1. F f\n2. g", ["line 5, move 2 of South", "'g' is not a move"]),
        (HEADER + "1. F f\n2. E\nf", ["line 6, move 2 of North (f)", "house f is empty"]),
        (HEADER + "1. F F", ["line 4, move 1 of North", "'F' is not North's house"]),
        (HEADER + "1. F+2 f", ["line 4, move 1 of South", "(F+2) claims 2", "captures 0"]),
        (f'[FEN "{NEAR_END}"]\n1. F+4', ["line 2, move 1 of South", "claims 4", "captures 5"]),
        (f'[FEN "{NEAR_END}"]\n1. F a', ["line 2, move 1 of North", "the game is over (majority)"]),
        (HEADER + "1. F f\n2. E?!? c", ["line 5, move 2 of South", "'E?!?'"]),
        ('[Result "27-22"]\n\n1. F f', ["line 1", "said to be 27-22", "leave the game unfinished"]),
        (f'[FEN "{NEAR_END}"]\n1. F\n25-23', ["line 3", "25-23", "end 25-15 (majority)"]),
        (f'[FEN "{NEAR_END}"]\n[Result "24-24"]\n1. F', ["line 2", "24-24", "end 25-15"]),
        ('[Result "South"]\n1. F', ["line 1", "'South' is no result", "27-21"]),
        ('[Variant "Kalah"]\n1. F', ["line 1", "'Kalah'", "Abapa"]),
        ('[FEN "4-4-4-4-4-4-4-4-4-4-4-3-0-0-S"]', ["line 1", "47 seeds", "48"]),
        ('\n[MaxPlies "many"]', ["line 2", "MaxPlies", "'many'"]),
        ('[MaxPlies "0"]', ["line 1", "max_plies must be between 1"]),
        ('[Ply "401"]', ["line 1", "between 0 and max_plies 400", "401"]),
        ('[South "Ama"]\n[South "Esi"]', ["line 2", "'South' stands twice"]),
        ("\n[South Ama]\n1. F", ["line 2", "'[South Ama]' is no tag", '[Name "value"]']),
        ("1. F\n{ f\n\n2. E", ["line 2", "never closed"]),
        ("1. F\n(f\n(E) 2. E", ["line 2", "'('", "never closed"]),
        ("1. F\n) f", ["line 2", "')' closes no variation"]),
        ("1. F\n} f", ["line 2", "'}' closes nothing"]),
        ("PK\x03\x04 not a game", ["line 1, move 1 of South", "is not a move"]),
    ],
)
def test_what_cannot_be_is_refused_with_its_place(text, parts):
    message = refused(text)
    assert all(part in message for part in parts), message


def test_a_result_left_open_is_accepted():
    for claim in ("*", "?"):
        (record,) = read_ogn(f'[FEN "{NEAR_END}"]\n[Result "{claim}"]\n1. F *')
        assert record.outcome.scores == (25, 15)


def test_moves_that_are_not_legal_are_refused_by_number():
    for moves in ("FfEf", [5, 5, 4, 5]):
        with pytest.raises(OwareError, match=r"^move 4: illegal move .*house f is empty"):
            GameRecord.from_moves(moves)
    with pytest.raises(OwareError, match=r"^move 1: .*9"):
        GameRecord.from_moves([9])


def test_tags_that_cannot_be_written_are_refused():
    with pytest.raises(OwareError, match="'Result' is worked out"):
        GameRecord.from_moves("F", tags={"Result": "27-21"})
    with pytest.raises(OwareError, match="not 'A B'"):
        GameRecord.from_moves("F", tags={"A B": "x"})
    with pytest.raises(OwareError, match="tag 'South' must be one line"):
        GameRecord.from_moves("F", tags={"South": "Ama\nEsi"})
    with pytest.raises(OwareError, match="tag 'Round' must be one line of text, not 3"):
        GameRecord.from_moves("F", tags={"Round": 3})


def start_arrays(*games: str) -> GameArrays:
    """Games from the start position, given as letters."""
    moves = [GameRecord.from_moves(game).moves for game in games]
    return GameArrays(
        np.tile(State.initial().board, (len(games), 1)),
        np.ones(len(games), np.bool_),
        np.zeros(len(games), np.int32),
        np.array([move for game in moves for move in game], np.int8),
        np.cumsum([0, *map(len, moves)]),
    )


def test_arrays_are_saved_without_records_and_come_back(tmp_path):
    games = start_arrays("FfEcCc", "", "A")._replace(about={"seed": 7, "commit": "abc"})
    saved = save_arrays(tmp_path / "games.npz", games)
    loaded, results = load_arrays(tmp_path / "games.npz")
    for name, expected in games._asdict().items():
        assert np.array_equal(getattr(loaded, name), expected)
    assert results.scores.tolist() == [[0, 0]] * 3 and results.reasons.tolist() == [0] * 3
    assert all((one == other).all() for one, other in zip(saved, results, strict=True))
    assert [record.moves for record in load_games(tmp_path / "games.npz")] == [
        (5, 5, 4, 2, 2, 2),
        (),
        (0,),
    ]


def test_saving_the_same_games_gives_the_same_bytes(tmp_path):
    for name in ("one", "two"):
        save_arrays(tmp_path / name, start_arrays("FfEcCc", "A"))
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


@pytest.mark.parametrize(
    ("change", "parts"),
    [
        ({"moves": np.array([5, 5, 4, 5, 0], np.int8)}, ["game 0, move 4", "house f is empty"]),
        ({"moves": np.array([5, 5, 4, 2, 6], np.int8)}, ["game 1, move 1", "a move is 0-5"]),
        ({"moves": np.array([5, 5, 4, 2, 261])}, ["moves holds a number that int8 cannot"]),
        ({"moves": np.zeros(5)}, ["moves must be int8, not float64"]),
        ({"moves": np.zeros((5, 1), np.int8)}, ["moves must have shape (5,), not (5, 1)"]),
        ({"offsets": np.array([0, 4, 4])}, ["offsets must rise from 0 to the 5 moves"]),
        ({"offsets": np.array([0, 6, 5])}, ["offsets must rise"]),
        ({"offsets": np.array([0, 5])}, ["offsets must have shape (3,), not (2,)"]),
        ({"plies": np.array([0, 401], np.int32)}, ["game 1", "max_plies 400", "401"]),
        ({"plies": np.array([-1, 0], np.int32)}, ["game 0", "between 0", "-1"]),
        ({"boards": np.full((2, 14), 4, np.int8)}, ["game 0", "holds 56 seeds"]),
        ({"boards": np.zeros((2, 12), np.int8)}, ["boards must have shape (2, 14)"]),
        ({"rules": AWARI}, ["abapa", "awari"]),
        ({"tags": [{}]}, ["tags must be one a game (2) or none, not 1"]),
    ],
)
def test_arrays_that_cannot_be_games_are_refused(change, parts, tmp_path):
    games = start_arrays("FfEc", "A")._replace(**change)
    with pytest.raises(OwareError) as caught:
        replay(games)
    assert all(part in str(caught.value) for part in parts), str(caught.value)
    with pytest.raises(OwareError):
        save_arrays(tmp_path / "games.npz", games)
    assert list(tmp_path.iterdir()) == []


def test_one_file_holds_one_rule_set(tmp_path):
    games = [GameRecord.from_moves("F", rules=Rules(plies)) for plies in (400, 200)]
    with pytest.raises(OwareError, match=r"at most 400 plies.*game 1 .*at most 200 plies"):
        save_games(tmp_path / "games.npz", games)


def rewritten(path: Path, **columns: np.ndarray) -> Path:
    """The file again with some columns replaced."""
    with np.load(path) as archive:
        kept = dict(archive)
    other = path.with_name("other.npz")
    np.savez(other, **(kept | columns))
    return other


def metadata(**changes: object) -> np.ndarray:
    fields = {"format": "oware games", "version": 1, "rules": Rules()._asdict(), "tags": []}
    return np.frombuffer(json.dumps(fields | changes).encode(), np.uint8)


@pytest.mark.parametrize(
    ("columns", "parts"),
    [
        ({"scores": np.array([[25, 23]], np.int8)}, ["game 0 ends 25-15 (majority)", "[25, 23]"]),
        ({"reasons": np.array([2], np.int8)}, ["game 0 ends 25-15 (majority)", "reason 2"]),
        ({"scores": np.zeros((1, 2))}, ["scores must be int8 of shape (1, 2)"]),
        ({"moves": np.array([4], np.int8)}, ["game 0, move 1", "house E is empty"]),
        ({"metadata": metadata(version=2)}, ["format version is 2, this reads 1"]),
        ({"metadata": metadata(format="chess")}, ["does not say 'oware games'"]),
        ({"metadata": metadata(rules=AWARI._asdict())}, ["abapa", "awari"]),
        ({"metadata": metadata(rules={"max_plies": 9})}, ["rules must state max_plies, slam"]),
        ({"metadata": metadata(tags=3)}, ["tags must be a list"]),
        ({"metadata": np.array([{"an": "object"}], object)}, ["not a whole file of games"]),
    ],
)
def test_files_that_say_something_else_are_refused(columns, parts, tmp_path):
    save_games(tmp_path / "games.npz", [GameRecord.from_moves("F", NEAR_END)])
    other = rewritten(tmp_path / "games.npz", **columns)
    with pytest.raises(OwareError) as caught:
        load_games(other)
    message = str(caught.value)
    assert str(other) in message and "\n" not in message
    assert all(part in message for part in parts), message


@pytest.mark.parametrize("kind", ["missing", "folder", "text", "empty", "npy", "pickle", "npz"])
def test_foreign_files_are_refused_in_one_line(kind, tmp_path):
    path = tmp_path / "games.npz"
    if kind == "folder":
        path.mkdir()
    elif kind == "npy":
        with path.open("wb") as file:
            np.save(file, np.zeros(3))
    elif kind == "npz":
        np.savez(path, weights=np.zeros(3))
    elif kind != "missing":
        content = {"text": b"1. F f", "empty": b"", "pickle": pickle.dumps([1])}[kind]
        path.write_bytes(content)
    with pytest.raises(OwareError) as caught:
        load_games(path)
    assert str(path) in str(caught.value) and "\n" not in str(caught.value)


def test_a_damaged_file_is_refused_or_its_games_are_unharmed(tmp_path):
    games = [GameRecord.from_moves(game["moves"], tags={"Event": game["id"]}) for game in GAMES]
    whole = tmp_path / "games.npz"
    save_games(whole, games)
    content = whole.read_bytes()
    damaged = tmp_path / "damaged.npz"
    refusals = 0
    for place in range(0, len(content), 11):
        flipped = bytearray(content)
        flipped[place] ^= 0x41
        for changed in (bytes(flipped), content[:place]):
            damaged.write_bytes(changed)
            try:
                assert load_games(damaged) == games  # a byte that carries nothing, such as a date
            except OwareError:
                refusals += 1
    assert refusals > 1.5 * len(range(0, len(content), 11))


def test_a_full_disk_leaves_the_old_file_and_says_so(tmp_path):
    path = tmp_path / "games.npz"
    save_games(path, [GameRecord.from_moves("FfEc")])
    before = path.read_bytes()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
    try:
        with pytest.raises(OwareError, match=f"^{path} cannot be written: File too large$"):
            save_games(path, [GameRecord.from_moves("A")])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert path.read_bytes() == before and list(tmp_path.iterdir()) == [path]
    with pytest.raises(OwareError, match=r"cannot be written: No such file or directory"):
        save_games(tmp_path / "no" / "games.npz", [])


def test_files_hold_plain_arrays_that_numpy_reads_without_this_package(tmp_path):
    save_games(tmp_path / "games.npz", [GameRecord.from_moves("FfEc"), GameRecord.from_moves("A")])
    archive = zipfile.ZipFile(tmp_path / "games.npz")
    with archive, np.load(io.BytesIO((tmp_path / "games.npz").read_bytes())) as arrays:
        assert arrays["moves"].dtype == np.int8 and arrays["moves"].tolist() == [5, 5, 4, 2, 0]
        assert arrays["offsets"].tolist() == [0, 4, 5]
        assert json.loads(arrays["metadata"].tobytes())["rules"] == Rules()._asdict()
        assert all(info.compress_type == zipfile.ZIP_DEFLATED for info in archive.infolist())


@pytest.mark.parametrize("moves", [None, 5, np.array(3), 2.5])
def test_moves_that_are_no_row_are_refused(moves):
    with pytest.raises(OwareError, match="moves are 0-5 or letters in a row, not"):
        GameRecord.from_moves(moves)


@pytest.mark.parametrize("tags", [3, "South", [("South", "Ama")], {"South": b"Ama"}, {3: "x"}])
def test_tags_that_are_no_texts_by_name_are_refused(tags):
    with pytest.raises(OwareError, match="tag"):
        GameRecord.from_moves("F", tags=tags)


@pytest.mark.parametrize("text", [None, 3, b"1. F f", ["1. F f"]])
def test_what_is_no_text_is_no_game(text):
    with pytest.raises(OwareError, match="games are read from text, not"):
        read_ogn(text)
    with pytest.raises(OwareError, match="a result is text such as 27-21, not"):
        GameRecord().with_result(3)
