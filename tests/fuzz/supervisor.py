"""A target in a process of its own, so that a crash or a loop in compiled code is a finding too.

The process notes each input before it is tried and saves its report once a second. When it dies, or
stays with one input for too long, that input is a finding and a new process goes on behind it.
"""

import json
import re
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from mmap import mmap
from pathlib import Path

from oware_env.files import write_whole
from tests.fuzz.samples import Workplace
from tests.fuzz.target import SECONDS, Report, Target, fuzz

MOST_DEATHS = 10  # of the processes of one target; then the rest is not tried
_NOTE = struct.Struct("=qd")  # number of the input, clock reading when it began
_GRACE = 15.0  # seconds beyond those of an input, for its own alarm to be heard
_START = 300.0  # seconds for the samples and the first compilation
_ROOT = Path(__file__).resolve().parents[2]


def supervise(target: type[Target], count: int, folder: Path) -> Report:
    """Try ``count`` inputs of a target in processes of their own; samples lie in ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    report, done, skipped = Report(target.name), 0, list[int]()
    started = time.monotonic()
    while done < count:
        saved, note = folder / f"{target.name}.json", folder / f"{target.name}.note"
        write_whole(note, _NOTE.pack(-1, time.time() + _START))
        log = folder / f"{target.name}.log"
        where = f"{target.__module__}:{target.__qualname__}"
        words = ["-m", "tests.fuzz", "--range", where, str(done), str(count), str(folder)]
        command = [sys.executable, "-X", "faulthandler", *words, *map(str, skipped)]
        write_whole(saved, json.dumps({"done": done, "report": report.to_json()}))
        with log.open("wb") as output:
            process = subprocess.Popen(command, cwd=_ROOT, stdout=output, stderr=output)
            is_stuck = _wait(process, note)
        document = json.loads(saved.read_text())
        report, done = Report.from_json(document["report"]), document["done"]
        if process.returncode == 0:
            continue
        number, said = _NOTE.unpack(note.read_bytes())[0], log.read_text(errors="replace")
        if number < 0 or process.returncode > 0:  # no fault of the project
            raise RuntimeError(f"the fuzzer failed before or at input {number}:\n{said[-4000:]}")
        place = _place(said)
        kind = "hang" if is_stuck else "death"
        report.note(number, kind, f"exit code {process.returncode} at {place}", "a crash", place)
        skipped.append(number)
        if len(skipped) >= MOST_DEATHS:
            break
    report.seconds = time.monotonic() - started
    return report


def _place(said: str) -> str:
    """Where in the project a process was when it died: faulthandler's innermost line of ours."""
    frames = re.findall(r'File "([^"]+)", line (\d+)', said)
    ours = [at for at in frames if at[0].startswith(str(_ROOT)) and "/tests/" not in at[0]]
    path, line = ours[0] if ours else ("nowhere", "0")
    return f"{path.removeprefix(f'{_ROOT}/')}:{line}"


def _wait(process: subprocess.Popen[bytes], note: Path) -> bool:
    """Wait for a process; whether it was stuck with one input, and so was killed."""
    while True:
        with suppress(subprocess.TimeoutExpired):
            process.wait(0.2)
            return False
        _, begun = _NOTE.unpack(note.read_bytes())
        if time.time() - begun > SECONDS + _GRACE:
            process.kill()
            process.wait()
            return True


def work(target: type[Target], numbers: range, folder: Path, skipped: set[int]) -> None:
    """What a process of :func:`supervise` does: try the inputs of these numbers."""
    saved = folder / f"{target.name}.json"
    report = Report.from_json(json.loads(saved.read_text())["report"])
    ready = target(Workplace(folder / "samples"))

    def save(done: int) -> None:
        """Write how far it is."""
        write_whole(saved, json.dumps({"done": done, "report": report.to_json()}))

    with (folder / f"{target.name}.note").open("r+b") as file, mmap(file.fileno(), 0) as note:

        def each() -> Iterator[int]:
            """The numbers to try, noted and saved on the way."""
            saved_at = time.monotonic()
            for number in numbers:
                if time.monotonic() - saved_at > 1.0:
                    save(number)
                    saved_at = time.monotonic()
                if number not in skipped:
                    note[:] = _NOTE.pack(number, time.time())
                    yield number

        fuzz(ready, each(), report)
        save(numbers.stop)
