"""What is fuzzed, and the loop that does it: an input is refused in one line, or read as it stands.

A target makes an input, has it read, and says whether what was read is what was given. Anything
but an :class:`OwareError` of one line or an unchanged value is a finding: a traceback, a silent
change, a hang, a message that is none.
"""

import random
import signal
import time
import traceback
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Protocol

from oware_env.errors import OwareError
from tests.fuzz.engine import dice

SECONDS = 30.0  # an input that takes longer hangs
MEMORY = 4 << 30  # bytes that inputs may take
LONGEST_MESSAGE = 2000  # characters
_SHOWN = 240  # characters of an input, in a report
_MOST_NUMBERS = 5  # of equal findings, in a report
_ROOT = Path(__file__).resolve().parents[2]


class Target(Protocol):
    """A kind of input. Made with the folder of the samples."""

    name: str
    count: int  # inputs of a full run

    def make(self, draw: random.Random) -> Any:
        """An input."""

    def read(self, given: Any) -> Any:
        """What the project makes of it; raises OwareError when it refuses."""

    def changed(self, given: Any, value: Any) -> str | None:
        """What was silently changed in reading it, if anything: the kind, a colon, the case."""


class Hang(BaseException):
    """An input took too long."""


@dataclass
class Finding:
    """One fault, with the inputs that show it."""

    kind: str  # traceback, silent change, hang, death, long message, several lines
    what: str
    given: str
    numbers: list[int] = field(default_factory=list)
    times: int = 0

    def __str__(self) -> str:
        where = f"{self.kind}, {self.times:,} times, such as {self.numbers}"
        return f"{where}: {self.what}\n    {self.given}"


@dataclass
class Report:
    """What became of the inputs of a target."""

    name: str
    accepted: int = 0
    refused: int = 0
    seconds: float = 0.0
    findings: dict[str, Finding] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """The report as plain data."""
        return asdict(self)

    @classmethod
    def from_json(cls, document: dict[str, Any]) -> "Report":
        """The report that :meth:`to_json` gave."""
        findings = {key: Finding(**one) for key, one in document["findings"].items()}
        return cls(**{**document, "findings": findings})

    @property
    def count(self) -> int:
        """Inputs that were tried."""
        faults = sum(found.times for found in self.findings.values())
        return self.accepted + self.refused + faults

    def note(self, number: int, kind: str, what: str, given: str, place: str = "") -> None:
        """Count a fault; equal ones are one finding."""
        key = f"{kind} {place or what.partition(': ')[0]}"
        found = self.findings.setdefault(key, Finding(kind, what, given))
        found.times += 1
        if len(found.numbers) < _MOST_NUMBERS:
            found.numbers.append(number)
        if len(given) < len(found.given):
            found.what, found.given = what, given

    def __str__(self) -> str:
        faults = self.count - self.accepted - self.refused
        head = (
            f"{self.name}: {self.count:,} inputs in {self.seconds:.0f} s, "
            f"{self.accepted:,} accepted, {self.refused:,} refused, {faults:,} faults"
        )
        return "\n".join([head, *(f"  {found}" for found in self.findings.values())])


def fuzz(target: Target, numbers: Iterable[int], report: Report | None = None) -> Report:
    """Try the inputs of these numbers; the report given, or a new one, with what became of them."""
    report = Report(target.name) if report is None else report
    started = time.monotonic()
    with _alarm(), limited_memory(MEMORY):
        for number in numbers:
            _try(target, number, report)
    report.seconds += time.monotonic() - started
    return report


def _try(target: Target, number: int, report: Report) -> None:
    """Try one input and count what became of it."""
    given = target.make(dice(target.name, number))
    try:
        signal.setitimer(signal.ITIMER_REAL, SECONDS)
        try:
            value = target.read(given)
        except OwareError as error:
            signal.setitimer(signal.ITIMER_REAL, 0)
            fault = bad_message(str(error))
            if fault:
                report.note(number, fault, shown(str(error)), shown(given), place_of(error))
            else:
                report.refused += 1
            return
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
        change = target.changed(given, value)
    except Hang as error:
        report.note(number, "hang", place_of(error), shown(given), place_of(error))
    except (Exception, SystemExit, KeyboardInterrupt) as error:
        if isinstance(error, KeyboardInterrupt) and not error.args:
            raise  # whoever runs the tests wants them to stop
        what = f"{type(error).__name__}: {shown(str(error), 200)} at {place_of(error)}"
        report.note(number, "traceback", what, shown(given), type(error).__name__ + place_of(error))
    else:
        if change:
            report.note(number, "silent change", change, shown(given))
        else:
            report.accepted += 1


def bad_message(message: str) -> str:
    """What is wrong with the text of a refusal; nothing when it is one line."""
    if not message.strip():
        return "empty message"
    if len(message) > LONGEST_MESSAGE:
        return "long message"
    return "several lines" if "\n" in message or "\r" in message else ""


def shown(given: Any, most: int = _SHOWN) -> str:
    """An input in a report: printable, and not too long."""
    text = given if isinstance(given, str) and given.isprintable() else repr(given)
    return text if len(text) <= most else f"{text[: most - 60]} ... {text[-40:]} ({len(text):,})"


def place_of(error: BaseException) -> str:
    """Where in the project an error came from: the innermost of its own lines."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [
        frame
        for frame in frames
        if Path(frame.filename).is_relative_to(_ROOT) and "/.venv/" not in frame.filename
    ]
    product = [frame for frame in ours if "/tests/" not in frame.filename]
    if not (product or ours):
        return "nowhere"
    frame = (product or ours)[-1]
    return f"{Path(frame.filename).relative_to(_ROOT)}:{frame.lineno}"


@contextmanager
def _alarm() -> Iterator[None]:
    """A block in which the real-time alarm raises :class:`Hang`."""

    def ring(number: int, frame: Any) -> None:
        raise Hang(f"longer than {SECONDS:.0f} s")

    before = signal.signal(signal.SIGALRM, ring)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@contextmanager
def limited_memory(most: int) -> Iterator[None]:
    """A block in which this process may take so many bytes more; then a MemoryError is raised."""
    statm = Path("/proc/self/statm")
    if not statm.exists():  # no Linux
        yield
        return
    import resource

    pages = int(statm.read_text().split()[0])
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + most, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
