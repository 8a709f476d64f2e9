import itertools
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numba
import numpy as np
import pytest
from numba.core.errors import NumbaError

from oware_env import kernel

ROOT = Path(__file__).resolve().parents[2]
PYTEST = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist")
PACKAGES = ("oware_env", "agents", "train")

# Kernels that call themselves, with other types than they are called with from outside.
RECURSIVE = """
import numpy as np
import oware_env.kernel
from oware_env.perft import perft
from oware_env.rules import initial_board

print(perft(initial_board(), 5, np.int32(0)), oware_env.kernel.CACHE)
"""
# Each script prints a number that kernels of other files work out by calling the rules.
COUNT = """
import oware_env.kernel
from oware_env.perft import perft
from oware_env.rules import initial_board

print(perft(initial_board(), 7), oware_env.kernel.CACHE)
"""
SEARCH = """
import oware_env.kernel
from agents.base import as_positions
from agents.search.alphabeta import AlphaBeta
from oware_env.rules import Rules
from oware_env.state import State

# Three seeds in a are the majority: as many as the edited rule takes no longer.
state = State.parse("0-0-0-0-1-1-2-0-0-0-0-5-22-17-S")
agent = AlphaBeta(Rules(), depth=1)
print(agent.decide(as_positions(state.board[None], [0], [1])).value[0], oware_env.kernel.CACHE)
"""


def clean_environment(**extra):
    hidden = ("NUMBA_CACHE_DIR", "NUMBA_DISABLE_JIT", "PYTHONPATH")
    return {name: text for name, text in os.environ.items() if name not in hidden} | extra


@pytest.fixture
def copied_tree(tmp_path):
    """The three packages, copied without any cache."""
    for package in PACKAGES:
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / package, tmp_path / package, ignore=ignored)
    return tmp_path


def answer(tree, script):
    """Run a script in a new process: (its number, the cache folder it used)."""
    (tree / "script.py").write_text(script)
    result = subprocess.run(
        [sys.executable, "script.py"],
        cwd=tree,
        env=clean_environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    number, cache = result.stdout.split(maxsplit=1)
    cache = Path(cache.strip())
    assert cache.is_relative_to(tree), "the script ran the installed packages, not the copy"
    return float(number), cache


def contents(folder):
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {path: path.stat().st_mtime_ns for path in files}


def check_that_an_edited_rule_arrives(tree, script, right):
    number, cache = answer(tree, script)
    assert number == right
    compiled = contents(cache)
    assert any(path.suffix == ".nbc" for path in compiled)

    assert answer(tree, script) == (number, cache)
    assert contents(cache) == compiled, "an unchanged tree was compiled again"

    path = tree / "oware_env" / "rules.py"
    text = path.read_text()
    edited = text.replace("return seeds == 2 or seeds == 3", "return seeds == 2")
    assert edited != text
    path.write_text(edited)
    edited_number, edited_cache = answer(tree, script)
    assert edited_number != number
    assert edited_cache != cache

    path.write_text(text)
    assert answer(tree, script) == (number, cache)
    assert contents(cache) == compiled, "the first cache is no longer used"


def test_an_edited_rule_reaches_the_cached_kernels_of_perft(copied_tree):
    check_that_an_edited_rule_arrives(copied_tree, COUNT, right=139157)


def test_a_kernel_that_calls_itself_runs_in_every_process(copied_tree):
    answers = [answer(copied_tree, RECURSIVE) for _ in range(3)]
    assert answers == answers[:1] * 3 and answers[0][0] == 5219


@pytest.mark.slow
def test_an_edited_rule_reaches_the_cached_kernels_of_the_search(copied_tree):
    check_that_an_edited_rule_arrives(copied_tree, SEARCH, right=1.0)


@pytest.fixture
def cache_base(tmp_path, monkeypatch):
    """A folder that stands in for the one that holds the keyed caches."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    return tmp_path


def test_a_tree_is_uncompiled_until_its_first_kernel_runs(copied_tree):
    script = """
from oware_env import kernel, rules
before = kernel.is_uncompiled()
rules.legal_moves(rules.initial_board())
print(2 * before + kernel.is_uncompiled(), kernel.CACHE)
"""
    assert answer(copied_tree, script)[0] == 2
    assert answer(copied_tree, script)[0] == 0


def test_the_cache_lies_where_numba_is_told_to_keep_it(cache_base):
    assert kernel._open_cache() == cache_base / f"kernels-{kernel.source_key()}"


def test_a_read_only_installation_keeps_its_cache_in_the_home_of_the_user(tmp_path, monkeypatch):
    monkeypatch.setattr(numba.config, "CACHE_DIR", "")
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert kernel._open_cache().parent == tmp_path / "oware"


def test_cache_folders_unused_for_a_week_are_deleted_and_no_others(cache_base):
    now = time.time()
    for name, days in (("kernels-old", 8), ("kernels-recent", 6), ("other-old", 8)):
        (cache_base / name).mkdir()
        (cache_base / name / "file").touch()
        os.utime(cache_base / name, (now - days * 86400,) * 2)
    current = kernel._open_cache()
    left = {path.name for path in cache_base.iterdir()}
    assert left == {"kernels-recent", "other-old", current.name}


def test_a_cache_folder_in_use_does_not_grow_old(cache_base):
    folder = kernel._open_cache()
    os.utime(folder, (0, 0))
    assert kernel._open_cache() == folder
    assert time.time() - folder.stat().st_mtime < 86400


@pytest.fixture
def small_tree(tmp_path):
    """A tree with a kernel, a part of one and neither in a file of each package."""
    for package in PACKAGES:
        (tmp_path / package / "inner").mkdir(parents=True)
        (tmp_path / package / "inner" / "loops.py").write_text("@kernel\ndef f(): ...\n")
        (tmp_path / package / "inner" / "parts.py").write_text("@intrinsic\ndef g(): ...\n")
        (tmp_path / package / "plain.py").write_text("x = 1\n")
    return tmp_path


def test_the_key_covers_the_text_and_the_names_of_all_kernel_files(small_tree):
    keys = {kernel.source_key(small_tree)}
    for package, name in itertools.product(PACKAGES, ("loops.py", "parts.py")):
        path = small_tree / package / "inner" / name
        path.write_text(path.read_text() + "# edited\n")
        keys.add(kernel.source_key(small_tree))
    path.rename(path.with_name("renamed.py"))
    keys.add(kernel.source_key(small_tree))
    assert len(keys) == 2 + 2 * len(PACKAGES)
    assert all(re.fullmatch("[0-9a-f]{16}", key) for key in keys)


def test_the_key_ignores_files_without_a_kernel(small_tree):
    key = kernel.source_key(small_tree)
    (small_tree / "agents" / "plain.py").write_text("x = 2\n")
    (small_tree / "agents" / "new.py").write_text("")
    assert kernel.source_key(small_tree) == key


def test_decorating_leaves_the_setting_of_other_code_as_it_was(cache_base):
    kernel.kernel(lambda: 1)
    assert str(cache_base) == numba.config.CACHE_DIR


def test_the_properties_of_the_rules_hold_without_compilation():
    result = subprocess.run(
        [*PYTEST, "tests/oware_env/test_properties.py"],
        cwd=ROOT,
        env=clean_environment(NUMBA_DISABLE_JIT="1", OWARE_TEST_PROFILE="interpreted"),
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    assert re.search(r"^\d\d passed in", result.stdout, re.MULTILINE), result.stdout


def test_reordered_sums_keep_nan_and_infinity():
    @kernel.kernel(reorders_sums=True)
    def total(numbers):
        sum_ = 0.0
        for number in numbers:
            sum_ += number
        return sum_

    assert total(np.arange(100.0)) == 4950.0
    assert np.isnan(total(np.array([1.0, np.nan, 2.0])))
    assert total(np.array([1.0, np.inf])) == np.inf
    assert np.isnan(total(np.array([np.inf, -np.inf])))


@kernel.kernel(inner=True)
def _sum_of_part(array, start):
    """The sum of what follows ``start``: of a part, to which a reference would be counted."""
    part = array[start:]
    total = 0
    for entry in range(len(part)):
        total += part[entry]
    return total


@kernel.kernel(inner=True)
def _copies(array):
    """What no inner kernel may do."""
    return array.copy().sum()


@kernel.kernel
def _copied_sum(array):
    """The same in a kernel that may."""
    return array.copy().sum()


@kernel.kernel(inner=True)
def _asks_for_a_copied_sum(array):
    """The first caller of a kernel that makes an array: that is still its own affair."""
    return _copied_sum(array) + 1


def test_an_inner_kernel_counts_no_references():
    assert _sum_of_part(np.arange(5), 2) == 9
    _sum_of_part.recompile()  # one that was read from a cache cannot be looked into
    text = "".join(_sum_of_part.inspect_llvm().values())
    assert "NRT_incref(" not in text and "alwaysinline" in text


def test_an_inner_kernel_that_makes_an_array_is_refused():
    with pytest.raises(NumbaError, match="NRT required"):
        _copies(np.arange(5))


def test_a_kernel_that_an_inner_one_calls_first_is_compiled_as_it_says():
    assert _asks_for_a_copied_sum(np.arange(5)) == 11
