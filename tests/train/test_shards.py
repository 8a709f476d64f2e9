"""Append-only rows on disk: what is appended comes back, and only what a checkpoint knows of."""

from itertools import pairwise

import numpy as np
import pytest

from oware_env.errors import OwareError
from train.shards import Shards

KIND = np.dtype([("number", "<i4"), ("letters", "i1", 3)])


def rows_of(start, stop):
    rows = np.zeros(stop - start, KIND)
    rows["number"] = np.arange(start, stop)
    rows["letters"] = np.arange(start, stop)[:, None] % 100 + np.arange(3)
    return rows


@pytest.fixture
def shards(tmp_path):
    shards = Shards(tmp_path / "rows", KIND, rows_per_file=10)
    yield shards
    shards.close()


def files(shards):
    return sorted(path.name for path in shards.folder.iterdir())


@pytest.mark.parametrize("cuts", [(0, 34), (0, 1, 2, 34), (0, 10, 20, 34), (0, 9, 31, 34)])
def test_what_is_appended_comes_back_whatever_the_pieces(shards, cuts):
    for start, stop in pairwise(cuts):
        shards.append(rows_of(start, stop))
    assert shards.rows == 34
    assert files(shards) == ["000000.rows", "000001.rows", "000002.rows", "000003.rows"]
    assert (shards.read(0, 34) == rows_of(0, 34)).all()
    wanted = np.random.default_rng(0).integers(0, 34, 100)
    assert (shards.take(wanted)["number"] == wanted).all()


def test_reading_between_appends_sees_all_rows_so_far(shards):
    for row in range(25):
        shards.append(rows_of(row, row + 1))
        assert (shards.read(0, row + 1) == rows_of(0, row + 1)).all()


def test_rows_after_a_checkpoint_are_cut_off(shards):
    shards.append(rows_of(0, 13))
    state = shards.state()
    shards.append(rows_of(13, 50))
    again = Shards(shards.folder, KIND, rows_per_file=10)
    again.restore(state)
    assert (again.rows, files(again)) == (13, ["000000.rows", "000001.rows"])
    again.append(rows_of(13, 27))
    assert (again.read(0, 27) == rows_of(0, 27)).all()
    again.close()


@pytest.mark.parametrize("at", [0, 10, 20])
def test_a_checkpoint_at_the_edge_of_a_file_goes_on_too(shards, at):
    shards.append(rows_of(0, at))
    state = shards.state()
    shards.append(rows_of(at, 33))
    shards.restore(state)
    shards.append(rows_of(at, 45))
    assert (shards.read(0, 45) == rows_of(0, 45)).all()


def test_a_new_run_in_a_used_folder_begins_with_nothing(shards):
    shards.append(rows_of(0, 5))
    other = Shards(shards.folder, KIND, rows_per_file=10)
    other.append(rows_of(70, 72))
    assert other.read(0, 2)["number"].tolist() == [70, 71]
    other.close()


def test_old_files_go_when_all_their_rows_may(shards):
    shards.append(rows_of(0, 34))
    shards.drop_before(20)
    assert (shards.first, files(shards)) == (20, ["000002.rows", "000003.rows"])
    assert (shards.read(20, 34) == rows_of(20, 34)).all()
    shards.drop_before(29)
    assert shards.first == 20
    shards.restore(shards.state())
    assert (shards.read(20, 34) == rows_of(20, 34)).all()


def test_a_file_that_was_cut_off_is_named(shards):
    shards.append(rows_of(0, 25))
    state = shards.state()
    path = shards.folder / "000001.rows"
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(OwareError, match=r"000001.rows was cut off: it holds 9 of 10 rows"):
        shards.restore(state)
    path.unlink()
    with pytest.raises(OwareError, match=r"000001.rows was cut off: it holds 0 of 10 rows"):
        shards.restore(state)


@pytest.mark.parametrize("place", [0, 33, -1])
def test_a_flipped_byte_is_noticed(shards, place):
    shards.append(rows_of(0, 25))
    state = shards.state()
    path = shards.folder / "000002.rows"
    content = bytearray(path.read_bytes())
    content[place] ^= 1
    path.write_bytes(content)
    with pytest.raises(OwareError, match=r"000002.rows is damaged"):
        shards.restore(state)


def test_a_folder_that_cannot_be_written_is_one_line(tmp_path):
    (tmp_path / "rows").touch()
    shards = Shards(tmp_path / "rows", KIND)
    with pytest.raises(OwareError, match=r"000000.rows cannot be written: "):
        shards.append(rows_of(0, 1))
