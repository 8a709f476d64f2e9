"""Workers: the same results in-process and in processes, whatever dies on the way."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from agents.workers import MOST_DEATHS, Processes, open_executor
from oware_env.errors import OwareError
from oware_env.state import IllegalMove


def _square(unit):
    return unit * unit


def _sleep_then_square(unit):
    time.sleep(unit["seconds"])
    return unit["number"] ** 2


def _die_until(unit):
    """Kills its own process until as many marks as asked for lie in the folder."""
    folder, deaths = unit
    marks = len(list(Path(folder).iterdir()))
    if marks < deaths:
        (Path(folder) / str(marks)).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return marks


def _environment(_):
    return [os.environ.get(name) for name in ("OMP_NUM_THREADS", "NUMBA_NUM_THREADS")]


def _ignores_interrupts(_):
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(0.05)
    return "alive"


def _mistake(unit):
    if unit == "move":
        raise IllegalMove("4-4", "A", ["B"], "house A is empty")
    if unit == "local":

        class Unpicklable(Exception):
            pass

        raise Unpicklable("made inside")
    raise ZeroDivisionError("divided by nothing")


def _wait_forever(path):
    Path(path).write_text(str(os.getpid()))
    time.sleep(3600)


def _is_running(process_id):
    try:
        return Path(f"/proc/{process_id}/stat").read_text().split()[2] != "Z"
    except FileNotFoundError:
        return False


def _until(condition, seconds=20):
    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert condition()


@pytest.fixture(scope="module", params=[0, 2])
def executor(request):
    with open_executor(request.param) as opened:
        yield opened


def test_every_unit_comes_back_once_with_its_index(executor):
    assert dict(executor.run(_square, range(23))) == {k: k * k for k in range(23)}


def test_results_in_order_are_in_the_order_of_the_units(executor):
    units = [{"seconds": 0.1 * (k % 3 == 0), "number": k} for k in range(7)]
    assert list(executor.run_in_order(_sleep_then_square, units)) == [k * k for k in range(7)]


def test_units_are_asked_for_lazily_so_they_may_depend_on_earlier_results(executor):
    seen = []

    def units():
        for k in range(8):
            seen.append((k, len(results)))
            yield k

    results = []
    for result in executor.run_in_order(_square, units(), in_flight=3):
        results.append(result)
    assert results == [k * k for k in range(8)]
    assert seen == [(k, max(0, k - 2)) for k in range(8)]


def test_tickets_name_the_submitted_units(executor):
    tickets = {executor.submit(_square, k): k for k in (5, 6, 7)}
    done = dict(executor.wait_any() for _ in range(3))
    assert done == {ticket: k * k for ticket, k in tickets.items()}
    with pytest.raises(RuntimeError, match="no unit"):
        executor.wait_any()


def test_an_error_in_a_unit_keeps_its_type_and_the_executor_stays_usable(executor):
    executor.submit(_mistake, "move")
    with pytest.raises(IllegalMove, match="house A is empty") as caught:
        executor.wait_any()
    assert caught.value.legal_moves == ["B"]
    executor.submit(_mistake, "other")
    with pytest.raises(ZeroDivisionError, match="divided by nothing"):
        executor.wait_any()
    assert list(executor.run_in_order(_square, [3])) == [9]


def test_what_a_failed_run_left_behind_is_not_taken_for_the_next(executor):
    results = executor.run(_square, ["not a number", 2, 3, 4], in_flight=4)
    with pytest.raises(TypeError):
        list(results)
    assert sorted(executor.run(_square, [5, 6, 7])) == [(0, 25), (1, 36), (2, 49)]
    assert list(executor.run_in_order(_square, [8, 9])) == [64, 81]


def test_errors_from_processes_carry_the_original_traceback():
    with open_executor(1) as executor:
        executor.submit(_mistake, "other")
        with pytest.raises(ZeroDivisionError) as caught:
            executor.wait_any()
        assert "in _mistake" in caught.value.__notes__[0]
        executor.submit(_mistake, "local")
        with pytest.raises(RuntimeError, match="Unpicklable: made inside"):
            executor.wait_any()


def test_a_worker_killed_in_a_unit_is_replaced_and_the_unit_run_again(tmp_path):
    with open_executor(2) as executor:
        executor.submit(_die_until, (tmp_path, MOST_DEATHS - 1))
        assert executor.wait_any()[1] == MOST_DEATHS - 1


def test_a_unit_that_always_kills_its_worker_raises_a_clear_error(tmp_path):
    with open_executor(1) as executor:
        executor.submit(_die_until, (tmp_path, 99))
        with pytest.raises(RuntimeError, match="3 worker processes died at the same unit"):
            executor.wait_any()
        assert list(executor.run_in_order(_square, [4])) == [16]


def test_workers_killed_from_outside_change_no_result():
    units = [{"seconds": 0.15, "number": k} for k in range(8)]
    with open_executor(2) as executor:
        assert isinstance(executor, Processes)
        results = executor.run(_sleep_then_square, units)
        collected = [next(results)]
        for process_id in executor.process_ids:
            os.kill(process_id, signal.SIGKILL)
        collected.extend(results)
    assert dict(collected) == {k: k * k for k in range(8)}


def test_worker_processes_have_one_thread_and_ignore_interrupts():
    before = os.environ.get("OMP_NUM_THREADS")
    with open_executor(1) as executor:
        executor.submit(_environment, None)
        assert executor.wait_any()[1] == ["1", "1"]
        executor.submit(_ignores_interrupts, None)
        assert executor.wait_any()[1] == "alive"
    assert os.environ.get("OMP_NUM_THREADS") == before


def test_closing_ends_busy_workers_and_leaves_no_process(tmp_path):
    with open_executor(2) as executor:
        executor.submit(_wait_forever, tmp_path / "pid")
        executor.submit(_square, 2)
        _until(lambda: (tmp_path / "pid").exists() and len(executor.process_ids) == 2)
        process_ids = executor.process_ids
    assert not any(Path(f"/proc/{process_id}").exists() for process_id in process_ids)
    with pytest.raises(RuntimeError, match="closed"):
        executor.submit(_square, 1)


def test_a_killed_driver_takes_its_busy_workers_with_it(tmp_path):
    mark = tmp_path / "pid"
    script = tmp_path / "driver.py"
    script.write_text(
        f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r})\n"
        "from test_workers import _wait_forever\n"
        "from agents.workers import open_executor\n"
        "if __name__ == '__main__':\n"
        f"    with open_executor(1) as executor:\n"
        f"        executor.submit(_wait_forever, {str(mark)!r})\n"
        "        executor.wait_any()\n"
    )
    driver = subprocess.Popen([sys.executable, str(script)])
    try:
        _until(lambda: mark.exists() and mark.read_text() != "")
        worker = int(mark.read_text())
        assert _is_running(worker)
    finally:
        driver.kill()
        driver.wait()
    _until(lambda: not _is_running(worker))


@pytest.mark.parametrize("how", ["-m", "-c"])
def test_processes_work_from_modules_and_from_command_text(how, tmp_path):
    text = (
        "from math import sqrt\n"
        "from agents.workers import open_executor\n"
        "if __name__ == '__main__':\n"
        "    with open_executor(2) as executor:\n"
        "        print(list(executor.run_in_order(sqrt, [4, 9])))\n"
    )
    (tmp_path / "driver_module.py").write_text(text)
    argument = "driver_module" if how == "-m" else text
    done = subprocess.run(
        [sys.executable, how, argument], cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    assert (done.stdout, done.stderr) == ("[2.0, 3.0]\n", "")


def test_a_unit_that_cannot_be_pickled_is_refused_when_submitted():
    with open_executor(1) as executor, pytest.raises(Exception, match="pickle"):
        executor.submit(_square, lambda: 1)


@pytest.mark.parametrize("workers", [-1, 1.5, True, "2"])
def test_a_wrong_number_of_workers_is_refused(workers):
    with pytest.raises(OwareError, match="workers must be a whole number from 0 to 1024"):
        open_executor(workers)
