"""Commands in this process: what they print, what their exit code is, and where their work begins.

Only 0 and 2 are exit codes of an input; 2 comes with one line on standard error. Anything else is a
fault: it is raised here, so that the fuzzer counts it.
"""

import io
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout
from typing import Any, NamedTuple
from unittest.mock import patch

from agents.console import run_command
from oware_env.errors import OwareError


class Done(NamedTuple):
    """A command that ended with exit code 0."""

    out: str
    err: str


class Reached(BaseException):
    """A command has read its options and would begin to work, with these settings."""

    def __init__(self, settings: Any) -> None:
        super().__init__("the work begins")
        self.settings = settings


class WrongEnd(Exception):
    """A command ended as none may."""


def run(action: Callable[[Sequence[str]], None], words: Sequence[str]) -> Done:
    """Run a command. Raises OwareError with its line when it says that it was given a mistake."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = run_command(action, list(words))
    said = err.getvalue()
    if code == 0:
        return Done(out.getvalue(), said)
    if code != 2:
        raise WrongEnd(f"exit code {code}: {said[-200:]!r}")
    raise OwareError(check_refusal(said))


def check_refusal(said: str) -> str:
    """The one line of a refusal on standard error. Raises WrongEnd when it is none."""
    *before, last, end = said.split("\n") if "\n" in said else ["", said]
    if end or not last.startswith("error: ") or not last.isprintable():
        raise WrongEnd(f"a refusal that is not one printable line: {said[-300:]!r}")
    if any(not line.startswith("note: ") for line in before):
        raise WrongEnd(f"more than a refusal on standard error: {said[:300]!r}")
    return last.removeprefix("error: ")


@contextmanager
def replaced(*places: tuple[Any, str, Any]) -> Iterator[None]:
    """A block in which attributes (of a module, name, value) are others."""
    with ExitStack() as stack:
        for module, name, value in places:
            stack.enter_context(patch.object(module, name, value))
        yield


def remembered(whole: Callable[..., Any]) -> Callable[..., Any]:
    """A function of plain arguments that works each value out once, such as ratings of games."""
    known: dict[str, Any] = {}

    def known_or_new(*given: Any, **named: Any) -> Any:
        """In the place of the function."""
        key = repr((given, named))
        if key not in known:
            known[key] = whole(*given, **named)
        return known[key]

    return known_or_new
