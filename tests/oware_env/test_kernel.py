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
def nothing_said(monkeypatch):
    """As in a process that has not said yet that its kernels are not kept."""
    monkeypatch.setattr(kernel, "_has_said", False)


def said_once(capsys):
    """The one line on standard error; standard output stays for results."""
    captured = capsys.readouterr()
    assert captured.out == "" and captured.err.count("\n") == 1
    assert captured.err.startswith("note: compiled kernels cannot be kept (")
    assert "set NUMBA_CACHE_DIR to a folder that can be written" in captured.err
    return captured.err


@pytest.mark.parametrize("place", ["file", "file/below", "x" * 300, "null\0byte"])
def test_a_cache_folder_that_cannot_be_made_is_done_without(
    place, tmp_path, monkeypatch, capsys, nothing_said
):
    (tmp_path / "file").touch()
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / place))
    assert kernel._open_cache() is None and kernel._open_cache() is None
    assert re.split("[/\0]", place)[0] in said_once(capsys)


def test_a_cache_folder_that_cannot_be_written_is_done_without(
    cache_base, monkeypatch, capsys, nothing_said
):
    def refuse(**_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(kernel.tempfile, "TemporaryFile", refuse)
    assert kernel._open_cache() is None
    assert f"{cache_base}/kernels-{kernel.source_key()}: Permission denied" in said_once(capsys)


@pytest.fixture
def read_only_installation(monkeypatch):
    monkeypatch.setattr(numba.config, "CACHE_DIR", "")
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)


@pytest.mark.parametrize("home", ["file", None, "", "not/absolute"])
def test_without_a_home_that_can_be_written_there_is_no_cache(
    home, tmp_path, monkeypatch, capsys, nothing_said, read_only_installation
):
    def no_home():
        raise RuntimeError("Could not determine home directory.")

    (tmp_path / "file").touch()
    monkeypatch.chdir(tmp_path)
    if home is None:
        monkeypatch.setattr(kernel.Path, "home", no_home)
    else:
        monkeypatch.setenv("HOME", str(tmp_path / home) if home == "file" else home)
        if home == "":  # stands for the root folder
            monkeypatch.setattr(kernel.Path, "home", lambda: tmp_path / "file")
    assert kernel._open_cache() is None
    said_once(capsys)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize("configured", ["", "relative/folder", "."])
def test_a_cache_home_that_is_no_absolute_path_is_ignored(
    configured, tmp_path, monkeypatch, read_only_installation
):
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", configured)
    assert kernel._open_cache().parent == tmp_path / ".cache" / "oware"
    assert not list((tmp_path / "here").iterdir())


def test_where_the_first_folder_cannot_be_made_the_home_is_used(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setattr(
        kernel, "_cache_bases", lambda: iter([tmp_path / "file" / "below", tmp_path / "home"])
    )
    assert kernel._open_cache().parent == tmp_path / "home"


def test_old_caches_that_another_process_deletes_meanwhile_are_no_matter(cache_base, monkeypatch):
    gone = [cache_base / f"kernels-{number}" for number in range(3)]
    monkeypatch.setattr(kernel.Path, "glob", lambda *_: iter(gone))
    assert kernel._open_cache().is_dir()


def test_kernels_compile_in_memory_without_a_folder(monkeypatch):
    monkeypatch.setattr(kernel, "CACHE", None)
    monkeypatch.setattr(kernel, "_marks", set())
    assert kernel.kernel(lambda x: x + 1)(2) == 3
    assert kernel.is_uncompiled() and not kernel.is_marked("training-is-compiled")
    kernel.mark("training-is-compiled")
    assert kernel.is_marked("training-is-compiled") and not kernel.is_marked("other")


def test_a_mark_is_seen_by_other_processes_and_survives_a_deleted_folder(tmp_path, monkeypatch):
    monkeypatch.setattr(kernel, "CACHE", tmp_path / "kernels-key")
    monkeypatch.setattr(kernel, "_marks", set())
    assert not kernel.is_marked("done") and kernel.is_uncompiled()
    kernel.mark("done")
    monkeypatch.setattr(kernel, "_marks", set())  # another process
    assert kernel.is_marked("done") and not kernel.is_marked("x" * 300)
    kernel.mark("x" * 300)
    assert kernel.is_marked("x" * 300)


def test_an_import_never_fails_for_want_of_a_folder(tmp_path):
    script = "import oware_env, oware_env.kernel as k; print(k.CACHE, k.is_uncompiled())"
    (tmp_path / "file").touch()
    result = subprocess.run(
        [sys.executable, "-c", script],
        cwd=ROOT,
        env=clean_environment(NUMBA_CACHE_DIR=str(tmp_path / "file")),
        capture_output=True,
        text=True,
        check=True,
    )
    assert result.stdout == "None True\n"
    assert result.stderr.count("\n") == 1 and result.stderr.startswith("note: compiled kernels")


def twice(x):
    return 2 * x


@pytest.fixture
def kept(tmp_path, monkeypatch):
    """Compile ``twice`` anew, as a new process does, in a cache of its own; its answer to 4."""
    monkeypatch.setattr(kernel, "CACHE", tmp_path)

    def answer_of_a_new_process():
        compiled = kernel.kernel(twice)
        return compiled(4), sum(compiled.stats.cache_hits.values())

    assert answer_of_a_new_process() == (8, 0) and answer_of_a_new_process() == (8, 1)
    return answer_of_a_new_process


@pytest.mark.parametrize("ending", [".nbi", ".nbc"])
@pytest.mark.parametrize("content", [b"", b"cut", None])
def test_a_damaged_cache_file_is_compiled_anew(kept, tmp_path, ending, content):
    (path,) = tmp_path.rglob(f"*{ending}")
    path.write_bytes(path.read_bytes()[:-40] if content is None else content)
    assert kept() == (8, 0)
    assert kept() == (8, 1), "what was compiled anew was not kept"


def test_a_full_disk_costs_the_cache_but_no_call(kept, tmp_path, monkeypatch, capsys, nothing_said):
    def refuse(*_):
        raise OSError(28, "No space left on device")

    shutil.rmtree(tmp_path)
    monkeypatch.setattr("numba.core.caching.IndexDataCacheFile._save_data", refuse)
    assert kept() == (8, 0) and kept() == (8, 0)
    assert "No space left on device" in said_once(capsys)


def test_a_cache_that_is_deleted_while_it_is_used_is_made_anew(kept, tmp_path):
    compiled = kernel.kernel(twice)
    shutil.rmtree(tmp_path)
    assert compiled(4) == 8
    assert kept() == (8, 1)


SLOW_WRITER = """
import pathlib, sys, time
import numba.core.caching as caching
from oware_env import kernel

def double(x):
    return 2 * x

write = caching.IndexDataCacheFile._save_index
def slowly(self, overloads):
    time.sleep(0.3)
    write(self, overloads)

caching.IndexDataCacheFile._save_index = slowly
compiled = kernel.kernel(double)
numbers = [int(arg) if arg.isdigit() else float(arg) for arg in sys.argv[2:]]
if sys.argv[1] != "-":
    pathlib.Path(sys.argv[1]).touch()
    while len(list(pathlib.Path(sys.argv[1]).parent.glob("*.ready"))) < 2:
        time.sleep(0.01)
print([compiled(number) for number in numbers], sum(compiled.stats.cache_hits.values()))
"""


def test_two_processes_that_compile_one_kernel_at_once_keep_both(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SLOW_WRITER)
    environment = clean_environment(NUMBA_CACHE_DIR=str(tmp_path / "cache"), PYTHONPATH=str(ROOT))

    def start(ready, *numbers):
        command = [sys.executable, str(script), ready, *numbers]
        return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)

    pair = [
        start(str(tmp_path / f"{number}.ready"), argument)
        for number, argument in enumerate(("4", "2.5"))
    ]
    assert [process.communicate()[0].strip() for process in pair] == ["[8] 0", "[5.0] 0"]
    assert start("-", "4", "2.5").communicate()[0].strip() == "[8, 5.0] 2"


def test_an_editors_lock_beside_a_kernel_is_no_matter(small_tree):
    key = kernel.source_key(small_tree)
    (small_tree / "agents" / ".#loops.py").symlink_to("nobody@nowhere.1")
    (small_tree / "agents" / "folder.py").mkdir()
    assert kernel.source_key(small_tree) == key


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


def test_an_inner_kernel_counts_no_references(monkeypatch):
    monkeypatch.setattr(kernel, "CACHE", None)  # what comes from a cache cannot be looked at
    compiled = kernel.kernel(_sum_of_part.py_func, inner=True)
    assert compiled(np.arange(5), 2) == 9
    text = "".join(compiled.inspect_llvm().values())
    assert "NRT_incref(" not in text and "alwaysinline" in text


def test_an_inner_kernel_that_makes_an_array_is_refused():
    with pytest.raises(NumbaError, match="NRT required"):
        _copies(np.arange(5))


def test_a_kernel_that_an_inner_one_calls_first_is_compiled_as_it_says():
    assert _asks_for_a_copied_sum(np.arange(5)) == 11
