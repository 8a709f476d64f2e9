"""The one exception for mistakes of a user, and what its messages are made with.

The text of an :class:`OwareError` is the whole message. Bottom layer, used by all packages.
Commands print the text and exit with code 2; nothing else is caught, so a fault of the program
still shows its traceback.
"""

import re
from numbers import Integral
from operator import index
from typing import Any

_SHOWN_CHARACTERS = 80  # of a value in a message
_LONGEST_MESSAGE = 1000  # characters
_LONG_WORD = re.compile(r"(\S{60})\S{80,}(\S{20})")
LARGEST = 2**63 - 1  # whole number that arrays count with
LARGEST_SEED = 2**64 - 1


class OwareError(ValueError):
    """A mistake in what the user gave: names the value, the place and what would be right."""

    def __init__(self, *texts: object) -> None:
        super().__init__(*(_readable(text) if isinstance(text, str) else text for text in texts))


def _readable(text: str) -> str:
    """A message without the middle of what is too long to be read: of its long words first."""
    if len(text) > _LONGEST_MESSAGE:
        text = _LONG_WORD.sub(r"\1 ... \2", text)
    if len(text) > _LONGEST_MESSAGE:
        half = _LONGEST_MESSAGE // 2 - 3
        text = f"{text[:half]} ... {text[-half:]}"
    return text


def shown(value: Any) -> str:
    """A value as a message shows it: on one line and of bounded length, whatever it is."""
    try:
        text = repr(value)
    except Exception:  # an integer of thousands of digits, or an object that cannot show itself
        if isinstance(value, int):
            return f"{type(value).__name__} of very many digits"
        return f"a value of type {type(value).__name__}"
    return on_one_line(text)


def on_one_line(text: str) -> str:
    """A text without what a terminal would obey, and cut where it is long."""
    if not text.isprintable():
        text = " ".join(text.split()).encode("unicode_escape").decode()
    if len(text) > _SHOWN_CHARACTERS:
        return text[: _SHOWN_CHARACTERS - 4] + " ..."
    return text


def integer(value: Any, what: str) -> int:
    """``value`` as an int of any size, else raises OwareError: ``what`` must be a whole number.

    numpy's integers count, booleans and floats do not.
    """
    number = as_integer(value)
    if number is None:
        raise OwareError(f"{what} must be a whole number, not {shown(value)}")
    return number


def whole_number(name: str, value: Any, least: int = 0, most: int = LARGEST) -> int:
    """``value`` as an int from ``least`` to ``most``, else raises OwareError naming it.

    What counts is as in :func:`integer`.
    """
    number = as_integer(value)
    if number is None or number < least:
        raise OwareError(f"{name} must be a whole number of at least {least}, not {shown(value)}")
    if number > most:
        raise OwareError(f"{name} must be at most {most}, not {shown(value)}")
    return number


def as_integer(value: Any) -> int | None:
    """An integer of Python or numpy as an int; None for booleans and all else."""
    if type(value) is int:
        return value
    if isinstance(value, bool) or not isinstance(value, Integral):
        return None
    try:
        return index(value)
    except TypeError:  # numpy counts its durations among the integers
        return None


def seed_number(name: str, value: Any) -> int:
    """A seed as an int of 64 bits, else raises OwareError naming it."""
    return whole_number(name, value, most=LARGEST_SEED)
