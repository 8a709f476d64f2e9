"""Tables made by somebody else, with a right digest: refused in one line before a kernel looks."""

import copy
import json
import random
import shutil

import numpy as np
import pytest

from agents.tablebase import files
from agents.tablebase.build import Build, build_table
from agents.tablebase.probe import Tablebase, open_table
from agents.tablebase.report import describe_position
from oware_env.errors import OwareError
from oware_env.positions import Positions
from oware_env.rules import Rules
from oware_env.state import State

POSITION = "0-0-0-0-1-1-2-0-0-0-0-0-22-22-S"  # four seeds
ASKED = np.array(
    [
        [0, 0, 0, 0, 1, 1, 2, 0, 0, 0, 0, 0, 22, 22],
        [1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 23, 23],
        [0, 0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 20, 24],
        [0, 0, 0, 0, 0, 12, 0, 0, 0, 0, 0, 12, 12, 12],
    ],
    np.int8,
)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The header and the data of a table of four seeds."""
    content = build_table(4, folder=tmp_path_factory.mktemp("whole")).read_bytes()
    size = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + size])
    header["__metadata__"]["facts"] = json.loads(header["__metadata__"]["facts"])
    return header, content[8 + size :]


def write(path, header, data, text=None):
    """A table file with the digest of whatever it holds; ``text`` in the place of its facts."""
    header = copy.deepcopy(header)
    facts = header["__metadata__"]["facts"]
    if isinstance(facts, dict):
        facts["digest"] = "0" * 64
        header["__metadata__"]["facts"] = json.dumps(facts)
    if text is not None:
        header["__metadata__"]["facts"] = text
    head = json.dumps(header).encode()
    head += b" " * (-len(head) % 8)
    path.write_bytes(len(head).to_bytes(8, "little") + head + data)
    digest = files._digest(path, b"0" * 64)
    path.write_bytes(path.read_bytes().replace(b"0" * 64, digest, 1))
    return path


def array_of(header, data, name):
    """A copy of one array."""
    begin, end = header[name]["data_offsets"]
    kind = {"I8": np.int8, "I32": np.int32}[header[name]["dtype"]]
    return np.frombuffer(data[begin:end], kind).reshape(header[name]["shape"]).copy()


def with_array(header, data, name, array):
    """The data with an array of the same size in its place."""
    begin, end = header[name]["data_offsets"]
    return data[:begin] + array.tobytes() + data[end:]


def refusal(path):
    """The one line that a table is refused with."""
    with pytest.raises(OwareError) as caught:
        Tablebase(path)
    message = str(caught.value)
    assert "\n" not in message and str(path) in message and len(message) < 600
    return message


def test_a_table_written_by_these_tests_is_one(tmp_path, whole):
    assert Tablebase(write(tmp_path / "abapa-4.safetensors", *whole)).seeds == 4


@pytest.mark.parametrize("seeds", [5, 12, 24])
def test_a_table_that_claims_more_seeds_than_it_holds_is_refused(tmp_path, whole, seeds):
    header = copy.deepcopy(whole[0])
    header["__metadata__"]["facts"]["seeds"] = seeds
    path = write(tmp_path / f"abapa-{seeds}.safetensors", header, whole[1])
    assert "'high' is int8[2, 1820], its facts ask for int8[2, " in refusal(path)
    open_table.cache_clear()
    with pytest.raises(OwareError, match="is not a sound table"):
        describe_position(State.parse(POSITION), seeds, tmp_path)


@pytest.mark.parametrize("name", ["rules", "seeds", "first", "last", "exact_seeds"])
@pytest.mark.parametrize(
    "value",
    [
        *(-1, 0, 25, 2**31, 2**63, 2**64, 7**300, 1.5, 4.0, True, None, "4", [], {}),
        *(
            [400, 0, 0, 0],
            [400, 0, 0, 0, 2],
            [0] * 5,
            [400, 0, 0, 0, False],
            ["4"] * 5,
            float("nan"),
        ),
    ],
)
def test_a_fact_that_cannot_be_is_refused(tmp_path, whole, name, value):
    header = copy.deepcopy(whole[0])
    header["__metadata__"]["facts"][name] = value
    assert "is not a sound table: " in refusal(write(tmp_path / "t", header, whole[1]))


@pytest.mark.parametrize("name", ["rules", "seeds", "first", "last", "exact_seeds"])
def test_a_fact_that_is_missing_is_named(tmp_path, whole, name):
    header = copy.deepcopy(whole[0])
    del header["__metadata__"]["facts"][name]
    assert f"it does not say its {name}" in refusal(write(tmp_path / "t", header, whole[1]))


@pytest.mark.parametrize(
    ("name", "place", "value", "message"),
    [
        ("low", (0, 1819), 5, "bounds of boards of 4 seeds"),
        ("low", (0, 0), -1, "bounds of boards of 0 seeds"),
        ("high", (1, 1819), 5, "bounds of boards of 4 seeds"),
        ("high", (1, 5), -2, "bounds of boards of 1 seeds"),
        ("low", (0, 9), -128, "bounds of boards of 1 seeds"),
        ("exact", (99, 1819), -5, "'exact' holds a value that 4 seeds cannot have"),
        ("exact", (0, 0), 1, "'exact' holds a value that 0 seeds cannot have"),
        ("open_exact", (0, 0), 5, "'open_exact' holds a value that no board has"),
        ("open_exact", (-1, -1), -128, "'open_exact' holds a value that no board has"),
        ("open_rows", (-1,), 2**31 - 1, "'open_rows' does not name the rows"),
        ("open_rows", (0,), -(2**31), "'open_rows' does not name the rows"),
        ("open_rows", (0,), 0, "'open_rows' does not name the rows"),
    ],
)
def test_a_value_that_no_board_has_is_refused(tmp_path, whole, name, place, value, message):
    array = array_of(*whole, name)
    array[place] = value
    path = write(tmp_path / "t", whole[0], with_array(*whole, name, array))
    assert message in refusal(path)


def test_rows_of_open_boards_are_compared_with_the_bounds(tmp_path, whole):
    rows = array_of(*whole, "open_rows")
    opened = np.flatnonzero(rows >= 0)
    for change in (lambda: rows[opened[::-1]], lambda: -1, lambda: len(opened)):
        other = rows.copy()
        other[opened] = change()
        path = write(tmp_path / "t", whole[0], with_array(*whole, "open_rows", other))
        assert "'open_rows' does not name the rows" in refusal(path)


def test_an_array_of_another_shape_type_or_name_is_refused(tmp_path, whole):
    for name in ("low", "high", "exact", "open_rows", "open_exact"):
        shape = whole[0][name]["shape"]
        for change in (
            {"shape": [*shape, 1]},
            {"shape": shape[::-1], "dtype": whole[0][name]["dtype"]},
            {"shape": [int(np.prod(shape))]},
            {"shape": []},
            {"dtype": "F32"},
            {"dtype": None},
            {"shape": [2**62, 4]},
            {"shape": [0, 2**64]},
            {"shape": [-1, -1]},
            {"shape": [True] * len(shape)},
            {"shape": "12"},
        ):
            if change.get("shape") == shape:
                continue
            header = copy.deepcopy(whole[0])
            header[name] |= change
            assert "abapa-4" in refusal(write(tmp_path / "abapa-4", header, whole[1]))
        header = copy.deepcopy(whole[0])
        header["\x1b[31m"] = header.pop(name)
        assert "\x1b" not in refusal(write(tmp_path / "t", header, whole[1]))


@pytest.mark.parametrize(
    "places",
    [
        *(
            [-1, 3639],
            [0, 2**64],
            [1, 3641],
            [3640, 0],
            [0.0, 3640.0],
            [False, 3640],
            ["0", "3640"],
        ),
        *([0], [0, 3640, 0], None, 7, {}, [None, None], [0, 3639], [7**400, 7**400 + 3640]),
    ],
)
def test_places_outside_of_the_data_are_refused(tmp_path, whole, places):
    header = copy.deepcopy(whole[0])
    header["low"]["data_offsets"] = places
    assert "is not a table, or it was cut off" in refusal(write(tmp_path / "t", header, whole[1]))


def test_arrays_that_share_bytes_or_leave_a_gap_are_refused(tmp_path, whole):
    header = copy.deepcopy(whole[0])
    header["low"]["data_offsets"] = header["high"]["data_offsets"]
    assert "is not a table" in refusal(write(tmp_path / "t", header, whole[1]))
    assert "is not a table" in refusal(write(tmp_path / "t", whole[0], whole[1] + b"\0"))
    assert "is not a table" in refusal(write(tmp_path / "t", whole[0], whole[1][:-1]))


@pytest.mark.parametrize(
    "text",
    [
        "[" * 20_000,
        '{"a":' * 20_000,
        '{"format": ' + "7" * 5000 + "}",
        '{"format": ' + "7" * 4000 + "}",
        *("", "[]", "null", "7", '"a"', '{"format": 2}', '{"format": 2, "digest": 7}'),
        *('{"format": 2, "digest": ""}', '{"format": 2, "digest": "\\ud800"}', '{"format": null}'),
    ],
)
def test_facts_that_are_no_facts_are_refused(tmp_path, whole, text):
    refusal(write(tmp_path / "t", *whole, text))
    for head in (text.encode(), b"{" + text.encode()):
        (tmp_path / "u").write_bytes(len(head).to_bytes(8, "little") + head + whole[1])
        refusal(tmp_path / "u")


@pytest.mark.parametrize("size", [0, 1, 2**31, 2**40, 2**63, 2**64 - 1])
def test_a_header_of_any_claimed_size_is_refused(tmp_path, whole, size):
    (tmp_path / "t").write_bytes(size.to_bytes(8, "little") + b"{}" + whole[1])
    refusal(tmp_path / "t")


def test_a_table_under_the_name_of_another_is_refused(tmp_path):
    open_table.cache_clear()
    shutil.copy(build_table(4, folder=tmp_path), tmp_path / "abapa-12.safetensors")
    with pytest.raises(OwareError, match=r"abapa-12\.safetensors holds the table of 4 seeds, not"):
        open_table(12, folder=tmp_path)
    assert open_table(4, folder=tmp_path).seeds == 4


def test_an_unfinished_build_that_makes_no_sense_is_begun_anew(tmp_path):
    for change in ({"plies": 401}, {"plies": -1}, {"plies": "7"}, {"plies": True}, {}):
        build = Build(3, Rules(), 100, 400)
        arrays = {name: getattr(build, name) for name in ("layers", "low", "high", "margins")}
        files.write_contents(tmp_path / "t", arrays, build.facts | change)
        assert not Build(3, Rules(), 100, 400).restore(tmp_path / "t")
    for name in arrays:
        odd = arrays | {name: arrays[name].astype(np.int32)}
        files.write_contents(tmp_path / "t", odd, build.facts | {"plies": 3})
        assert not Build(3, Rules(), 100, 400).restore(tmp_path / "t")
        odd = arrays | {name: arrays[name][:1]}
        files.write_contents(tmp_path / "t", odd, build.facts | {"plies": 3})
        assert not Build(3, Rules(), 100, 400).restore(tmp_path / "t")
    files.write_contents(tmp_path / "t", arrays, build.facts | {"plies": 3})
    assert Build(3, Rules(), 100, 400).restore(tmp_path / "t")


def odd_value(choose):
    """A value that a forger may write into JSON."""
    return choose.choice(
        [
            *(choose.randrange(-5, 500), choose.randrange(2**66), -choose.randrange(2**66)),
            *(None, True, 0.5, 1e300, "a", "", [], {}, [0, 8], [[1]], "I8", "I64", "F32"),
        ]
    )


def mutate(choose, header, data):
    """A table with a few changes of what it says of itself and of what it holds."""
    header = copy.deepcopy(header)
    names = [name for name in header if name != "__metadata__"]
    for _ in range(choose.randrange(1, 4)):
        kind, name = choose.randrange(6), choose.choice(names)
        facts = header["__metadata__"]["facts"]
        if kind == 0:
            facts[choose.choice([*facts, "other"])] = odd_value(choose)
        elif kind == 1:
            fact = choose.choice(["seeds", "first", "last", "exact_seeds"])
            facts[fact] = choose.randrange(30) if choose.random() < 0.5 else choose.randrange(999)
        elif kind == 2:
            header[name] = dict(header[name]) if isinstance(header[name], dict) else {}
            header[name][choose.choice(["dtype", "shape", "data_offsets"])] = odd_value(choose)
        elif kind == 3:
            header[choose.choice([name, "another"])] = header[choose.choice(names)]
        elif kind == 4:
            place, size = choose.randrange(len(data)), choose.randrange(1, 9)
            data = data[:place] + choose.randbytes(size) + data[place + size :]
        else:  # a value that could be, in some places
            place = choose.randrange(len(data))
            data = data[:place] + bytes([choose.choice([0, 1, 2, 254, 255])]) + data[place + 1 :]
    return header, data


def hammer(folder, whole, count, seed):
    """Open and ask so many mutations; how many were taken."""
    choose, taken = random.Random(seed), 0
    plies = [0, 1, 150, 299, 300, 301, 399, 400]
    for _ in range(count):
        path = write(folder / "t", *mutate(choose, *whole))
        try:
            table = Tablebase(path)
        except OwareError as error:
            assert "\n" not in str(error)
            continue
        taken += 1
        for ply in plies:
            positions = Positions(
                ASKED, np.full(len(ASKED), ply, np.int32), np.zeros(len(ASKED), np.uint64)
            )
            low, high = table.bounds(positions, 400)
            assert (low <= high).all() and (high <= ASKED[:, :12].sum(axis=1)).all()
            table.move_bounds(positions, 400)
    return taken


def test_no_mutation_of_a_table_does_more_than_raise_one_line(tmp_path, whole):
    assert 20 < hammer(tmp_path, whole, 400, 0) < 200  # a value that could be is taken
