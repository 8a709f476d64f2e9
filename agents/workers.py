"""Workers: run pure functions of picklable units in this process or in others, by one interface.

A unit gives the same result whichever process runs it (law 4 of the design), so a worker that is
killed is replaced and its unit simply run again. Each process has one thread for numerics.
"""

import multiprocessing
import os
import pickle
import queue
import signal
import threading
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection
from typing import Any, NamedTuple, Protocol

from oware_env.errors import OwareError

MOST_DEATHS = 3  # worker processes a unit may take down before it is given up
_ONE_THREAD = {
    name: "1"
    for name in (
        "OMP_NUM_THREADS",
        "MKL_NUM_THREADS",
        "OPENBLAS_NUM_THREADS",
        "NUMBA_NUM_THREADS",
    )
}
_STARTING = threading.Lock()  # a start changes the environment of this process for a moment


class Executor(Protocol):
    """Runs units. Made by :func:`open_executor`; use it in a ``with`` statement."""

    workers: int  # units that run at the same time

    def submit(self, function: Callable[[Any], Any], unit: Any) -> int:
        """Queue ``function(unit)`` and return its ticket. Both must pickle; waits for nothing."""
        ...

    def wait_any(self) -> tuple[int, Any]:
        """(ticket, result) of the next unit that is done; its error is raised here."""
        ...

    def close(self) -> None:
        """Stop at once: units that are not done are dropped, no process is left behind."""
        ...

    def __enter__(self) -> "Executor":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def run(
        self, function: Callable[[Any], Any], units: Iterable[Any], in_flight: int | None = None
    ) -> Iterator[tuple[int, Any]]:
        """(index, result) of every unit as it is done, with ``in_flight`` submitted at a time."""
        limit = in_flight or 2 * self.workers
        indices: dict[int, int] = {}

        def next_done() -> tuple[int, Any]:
            """Index and result of the next of these units that is done."""
            ticket, result = self.wait_any()
            while ticket not in indices:  # left over from a run that an error ended
                ticket, result = self.wait_any()
            return indices.pop(ticket), result

        for index, unit in enumerate(units):
            indices[self.submit(function, unit)] = index
            if len(indices) >= limit:
                yield next_done()
        while indices:
            yield next_done()

    def run_in_order(
        self, function: Callable[[Any], Any], units: Iterable[Any], in_flight: int | None = None
    ) -> Iterator[Any]:
        """The results in the order of the units.

        ``units`` is read lazily: unit k is asked for when result ``k - in_flight`` (default two
        a worker) has been handed out, so it may depend on that.
        """
        limit = in_flight or 2 * self.workers
        tickets: deque[int] = deque()
        early: dict[int, Any] = {}

        def next_result() -> Any:
            """The result of the oldest unit asked for."""
            ticket = tickets.popleft()
            while ticket not in early:
                done, result = self.wait_any()
                early[done] = result
            return early.pop(ticket)

        for unit in units:
            tickets.append(self.submit(function, unit))
            if len(tickets) >= limit:
                yield next_result()
        while tickets:
            yield next_result()


def open_executor(workers: int = 2) -> Executor:
    """An executor of ``workers`` processes, or of this process when ``workers`` is 0."""
    if isinstance(workers, bool) or not isinstance(workers, int) or not 0 <= workers <= 1024:
        raise OwareError(f"workers must be a whole number from 0 to 1024, not {workers!r}")
    return Processes(workers) if workers else InProcess()


class InProcess(Executor):
    """Runs each unit in this process, when it is waited for."""

    def __init__(self) -> None:
        self.workers = 1
        self._tickets = 0
        self._queue: deque[tuple[int, Callable[[Any], Any], Any]] = deque()

    def submit(self, function: Callable[[Any], Any], unit: Any) -> int:
        """See :meth:`Executor.submit`."""
        self._queue.append((self._tickets, function, unit))
        self._tickets += 1
        return self._tickets - 1

    def wait_any(self) -> tuple[int, Any]:
        """See :meth:`Executor.wait_any`."""
        if not self._queue:
            raise RuntimeError("no unit is waiting to be done")
        ticket, function, unit = self._queue.popleft()
        return ticket, function(unit)

    def close(self) -> None:
        """See :meth:`Executor.close`."""
        self._queue.clear()


class Processes(Executor):
    """Runs units in processes made by spawn, one thread of this process minding each."""

    def __init__(self, workers: int) -> None:
        self.workers = workers
        self._tickets = 0
        self._open_tickets = 0
        self._is_closing = threading.Event()
        self._units: queue.SimpleQueue[_Unit | None] = queue.SimpleQueue()
        self._results: queue.SimpleQueue[tuple[int, Any, BaseException | None]] = (
            queue.SimpleQueue()
        )
        self._processes: dict[int, _Worker] = {}
        self._threads = [
            threading.Thread(target=self._mind, args=(number,), daemon=True)
            for number in range(workers)
        ]
        for thread in self._threads:
            thread.start()

    @property
    def process_ids(self) -> list[int]:
        """Ids of the worker processes that run now."""
        return [worker.process.pid or 0 for worker in list(self._processes.values())]

    def submit(self, function: Callable[[Any], Any], unit: Any) -> int:
        """See :meth:`Executor.submit`."""
        if self._is_closing.is_set():
            raise RuntimeError("the executor is closed")
        self._units.put(_Unit(self._tickets, pickle.dumps((function, unit))))
        self._tickets += 1
        self._open_tickets += 1
        return self._tickets - 1

    def wait_any(self) -> tuple[int, Any]:
        """See :meth:`Executor.wait_any`."""
        if not self._open_tickets:
            raise RuntimeError("no unit is waiting to be done")
        ticket, result, error = self._results.get()
        self._open_tickets -= 1
        if error is not None:
            raise error
        return ticket, result

    def close(self) -> None:
        """See :meth:`Executor.close`."""
        self._is_closing.set()
        for _ in self._threads:
            self._units.put(None)
        while any(thread.is_alive() for thread in self._threads):
            for worker in list(self._processes.values()):
                with suppress(ValueError):  # ended meanwhile
                    worker.process.terminate()  # ends the wait of the thread that minds it
            self._threads[0].join(0.02)

    def _mind(self, number: int) -> None:
        """Body of a thread: keep one worker process and pass units to it."""
        while (unit := self._units.get()) is not None and not self._is_closing.is_set():
            try:
                result, error = self._run(number, unit)
            except BaseException as fault:  # must reach whoever waits for this unit
                result, error = None, fault
            self._results.put((unit.ticket, result, error))
        if number in self._processes:
            self._processes.pop(number).end()

    def _run(self, number: int, unit: "_Unit") -> tuple[Any, BaseException | None]:
        """The outcome of a unit, run again in a new process when its worker dies."""
        for _ in range(MOST_DEATHS):
            if self._is_closing.is_set():
                return None, None
            if number not in self._processes:
                self._processes[number] = _Worker()
            connection = self._processes[number].connection
            try:
                connection.send_bytes(unit.payload)
                answer = connection.recv_bytes()
            except (EOFError, OSError):  # how the death of the process shows
                code = self._processes.pop(number).end()
            else:
                return pickle.loads(answer)
        return None, RuntimeError(
            f"{MOST_DEATHS} worker processes died at the same unit (last exit code {code}): out "
            "of memory, or a script that opens workers outside `if __name__ == '__main__':`"
        )


class _Unit(NamedTuple):
    ticket: int
    payload: bytes  # pickled (function, unit)


class _Worker:
    """One worker process and the pipe to it."""

    def __init__(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.connection, theirs = context.Pipe()
        self.process = context.Process(target=_serve, args=(theirs,), daemon=True)
        with _STARTING:
            # The child must see these before it imports numpy, and inherits a blocked Ctrl-C.
            before = {name: os.environ.get(name) for name in _ONE_THREAD}
            os.environ.update(_ONE_THREAD)
            try:
                if hasattr(signal, "pthread_sigmask"):
                    resource_tracker.ensure_running()  # its first start would unblock again
                    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
                self.process.start()
            finally:
                for name, value in before.items():
                    if value is None:
                        del os.environ[name]
                    else:
                        os.environ[name] = value
        theirs.close()

    def end(self) -> int | None:
        """End the process if it still runs, wait for it and return its exit code."""
        self.connection.close()
        self.process.terminate()
        self.process.join()
        code = self.process.exitcode
        self.process.close()
        return code


def _serve(connection: Connection) -> None:
    """Body of a worker process: run units until the driver closes the pipe or dies."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the driver's
    threading.Thread(target=_end_with_driver, daemon=True).start()
    with suppress(EOFError, OSError):
        while True:
            connection.send_bytes(_outcome(connection.recv_bytes()))


def _end_with_driver() -> None:
    """End this process when the driver dies, also in the middle of a long unit."""
    driver = multiprocessing.parent_process()
    if driver is not None:
        driver.join()
        os._exit(1)


def _outcome(payload: bytes) -> bytes:
    """The pickled (result, error) of a pickled (function, unit)."""
    try:
        function, unit = pickle.loads(payload)
        return pickle.dumps((function(unit), None))
    except Exception as error:
        note = f"In a worker process:\n{traceback.format_exc()}"
        if not isinstance(error, OwareError):
            error.add_note(note)
        try:
            message = pickle.dumps((None, error))
            pickle.loads(message)  # some exceptions pickle but cannot be made again
            return message
        except Exception:
            plain = RuntimeError(f"{type(error).__name__}: {error}")
            plain.add_note(note)
            return pickle.dumps((None, plain))
