"""The journal of a tournament: no changed bit and no edited game is ever taken."""

import hashlib
import json
import random
import shutil
from contextlib import chdir

import pytest

from agents.arena.journal import ABOUT, GAMES, read_games
from agents.arena.tournament import (
    TournamentSettings,
    list_units,
    read_tournament,
    run_tournament,
)
from agents.console import run_command
from oware_env.errors import OwareError
from oware_env.files import DIGEST, LOCK, seal

AGENTS = ("random", "greedy", "careful")


def _settings(folder, **changes):
    values = {"games": 4, "unit_openings": 1, "workers": 0, "agents": AGENTS} | changes
    return TournamentSettings(output=str(folder), **values)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("journal") / "whole"
    return str(run_tournament(_settings(folder))), folder


@pytest.fixture
def copy(whole, tmp_path):
    return shutil.copytree(whole[1], tmp_path / "copy")


def _units(folder):
    return list_units(_settings(folder))


def _names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_every_flipped_bit_of_a_line_is_noticed_and_named(whole, copy):
    lines = (whole[1] / GAMES).read_bytes().splitlines(keepends=True)
    content, units = bytearray(lines[0]), _units(copy)
    for bit in range(8 * (len(content) - 1)):
        content[bit // 8] ^= 1 << bit % 8
        (copy / GAMES).write_bytes(bytes(content) + lines[1])
        with pytest.raises(OwareError, match=r"games\.jsonl is damaged at line [12]: delete"):
            read_games(copy, units)
        content[bit // 8] ^= 1 << bit % 8
    (copy / GAMES).write_bytes(bytes(content) + lines[1])
    assert len(read_games(copy, units)) == 2


def test_every_flipped_bit_of_the_description_is_noticed(whole, copy):
    content = bytearray((whole[1] / ABOUT).read_bytes())
    for bit in random.Random(0).sample(range(8 * len(content)), 1000):
        content[bit // 8] ^= 1 << bit % 8
        (copy / ABOUT).write_bytes(bytes(content))
        try:
            assert str(read_tournament(copy)) == whole[0], "taken with other content"
        except OwareError as error:
            assert ABOUT in str(error)
        content[bit // 8] ^= 1 << bit % 8


def _edited(change):
    """A change of a line's document, with the checksum that belongs to it."""

    def edit(folder):
        lines = (folder / GAMES).read_bytes().splitlines()
        entry = json.loads(lines[0])
        del entry["digest"]
        change(entry)
        content = json.dumps(entry)[:-1].encode()
        digest = hashlib.sha256(content).hexdigest()[:16]
        lines[0] = content + f', "digest": "{digest}"}}'.encode()
        (folder / GAMES).write_bytes(b"\n".join(lines) + b"\n")

    return edit


def _game(**values):
    return _edited(lambda entry: entry["games"][0].update(values))


def _move(entry, place, letter):
    moves = entry["games"][0]["moves"]
    entry["games"][0]["moves"] = moves[:place] + letter + moves[place + 1 :]


def _swap(entry):
    entry["games"].reverse()


EDITS = {
    "impossible scores": _game(scores=[-5, 53]),
    "scores beyond the type": _game(scores=[40_000, 8]),
    "other possible scores": _game(scores=[27, 21]),
    "three scores": _game(scores=[25, 12, 0]),
    "a game that goes on": _game(reason="running"),
    "another reason": _game(reason="move_limit"),
    "an unknown reason": _game(reason="resigned"),
    "no moves": _game(moves=""),
    "another opening": _game(opening=1),
    "an opening beyond the type": _game(opening=10**12),
    "a number for a truth": _game(a_is_south=0),
    "the other seat": _game(a_is_south=False),
    "two games swapped": _edited(_swap),
    "a game missing": _edited(lambda entry: entry["games"].pop()),
    "no games": _edited(lambda entry: entry["games"].clear()),
    "a unit that is none": _edited(lambda entry: entry.update(unit=99)),
    "a unit before the first": _edited(lambda entry: entry.update(unit=-1)),
    "a unit as text": _edited(lambda entry: entry.update(unit="0")),
    "a unit as a truth": _edited(lambda entry: entry.update(unit=True)),
    "the games of another unit": _edited(lambda entry: entry.update(unit=1)),
    "another first move": _edited(lambda entry: _move(entry, 0, "F")),
    "a move of the other side": _edited(lambda entry: _move(entry, 8, "f")),
    "a letter that is no house": _edited(lambda entry: _move(entry, 8, "z")),
    "a move more": _edited(
        lambda entry: entry["games"][0].update(moves=entry["games"][0]["moves"] + "A")
    ),
    "a key more": _edited(lambda entry: entry.update(note="mine")),
    "no unit": _edited(lambda entry: entry.pop("unit")),
    "games that are no list": _edited(lambda entry: entry.update(games={"0": 1})),
    "nested too deep": lambda folder: (folder / GAMES).write_text("[" * 20_000 + "\n"),
    "a number of 5,000 digits": lambda folder: (folder / GAMES).write_text("9" * 5_000 + "\n"),
    "a line twice": lambda folder: (folder / GAMES).write_bytes(
        (folder / GAMES).read_bytes() + (folder / GAMES).read_bytes().splitlines(True)[0]
    ),
    "no checksum": lambda folder: (folder / GAMES).write_bytes(
        b'{"unit": 0, "games": []}\n' + (folder / GAMES).read_bytes()
    ),
}


@pytest.mark.parametrize("name", EDITS)
def test_an_edited_line_is_refused_even_with_its_checksum(copy, name):
    EDITS[name](copy)
    line = 7 if name == "a line twice" else 1
    for take_up in (read_tournament, lambda folder: run_tournament(_settings(folder))):
        with pytest.raises(OwareError, match=rf"games\.jsonl is damaged at line {line}: delete"):
            take_up(copy)


def test_lines_in_another_order_are_the_same_tournament(whole, copy):
    lines = (copy / GAMES).read_bytes().splitlines(keepends=True)
    (copy / GAMES).write_bytes(b"".join(reversed(lines)))
    assert str(read_tournament(copy)) == whole[0]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"settings": {}}, "does not describe a tournament"),
        ({"identities": ["random"]}, "does not describe a tournament"),
        ({"identities": 5}, "does not describe a tournament"),
        ({"identities": [1, 2, 3]}, "does not describe a tournament"),
        ({"settings": {"agents": list(AGENTS), "games": 10**18}}, "games must be less than"),
        ({"settings": {"agents": list(AGENTS), "output": 5}}, "games"),
    ],
)
def test_a_description_with_its_checksum_and_other_contents_is_one_line(copy, change, message):
    document = json.loads((copy / ABOUT).read_text()) | change
    document.pop(DIGEST)
    (copy / ABOUT).write_text(json.dumps(seal(document)))
    with pytest.raises(OwareError) as caught:
        read_tournament(copy)
    assert message in str(caught.value) and "\n" not in str(caught.value)


def test_reading_needs_no_right_to_write_and_changes_nothing(whole, copy):
    before = {name: (copy / name).read_bytes() for name in _names(copy)}
    (copy / GAMES).write_bytes(before[GAMES] + b'{"unit": 0, "ga')  # torn, as by a power cut
    copy.chmod(0o555)
    try:
        assert str(read_tournament(copy)) == whole[0]
    finally:
        copy.chmod(0o755)
    assert (copy / GAMES).read_bytes() == before[GAMES] + b'{"unit": 0, "ga'
    assert _names(copy) == sorted(before)


@pytest.mark.parametrize(
    "words",
    [
        ["greedy", "careful", "--games", "4", "--opening-plies", "0"],
        ["greedy", "alphabeta:depth=2,table=20", "--games", "4"],
        ["greedy", "careful", "--games", "4", "--anchor", "random"],
        ["greedy", "careful", "--games", "1000000000000000000"],
        ["greedy", "careful", "--seed", "18446744073709551616"],
        ["greedy", "n" * 300],
        ["greedy", "x/" + "n" * 300],
    ],
)
def test_a_refused_tournament_leaves_nothing_behind(tmp_path, capsys, words):
    from agents.arena.command import run

    with chdir(tmp_path):
        for output in ([], ["--output", "here"]):
            assert run_command(run, [*words, *output]) == 2
            said = capsys.readouterr()
            assert said.out == "" and said.err.count("\n") == 1, said.err
            assert not list(tmp_path.rglob("*.json*")) and not (tmp_path / "here").exists()
            assert not list((tmp_path / "runs").glob("*"))


def test_tournaments_that_begin_in_the_same_second_have_folders_of_their_own(
    tmp_path, capsys, monkeypatch
):
    from agents.arena import command

    class Stopped:
        @staticmethod
        def now():
            return __import__("datetime").datetime(2026, 1, 2, 3, 4, 5)

    monkeypatch.setattr(command, "datetime", Stopped)
    with chdir(tmp_path):
        for seed in ("1", "2", "3"):
            words = ["random", "greedy", "--games", "2", "--workers", "0", "--seed", seed]
            assert run_command(command.run, words) == 0
        folders = _names(tmp_path / "runs")
    name = "tournament-20260102-030405"
    assert folders == [name, f"{name}-2", f"{name}-3"]
    assert all(GAMES in _names(tmp_path / "runs" / folder) for folder in folders)


def test_a_journal_is_locked_while_it_is_written_and_never_for_readers(whole, copy):
    from agents.arena.journal import Journal

    settings = _settings(copy)
    with Journal(copy, settings, list_units(settings)):
        assert LOCK in _names(copy)
        assert str(read_tournament(copy)) == whole[0]
    with Journal(copy, settings, list_units(settings)):
        pass
