"""The one exception for mistakes of a user, and what its messages are made with.

The text of an :class:`OwareError` is the whole message. Bottom layer, used by all packages.
Commands print the text and exit with code 2; nothing else is caught, so a fault of the program
still shows its traceback.
"""

from numbers import Integral

_LONGEST = 80  # characters of a foreign value in a message


class OwareError(ValueError):
    """A mistake in what the user gave: names the value, the place and what would be right."""


def shown(value: object) -> str:
    """A foreign value for a message: its ``repr`` on one line, short, and never an error."""
    try:
        text = " ".join(repr(value).split())
    except ValueError:  # Python writes no integer of more than some 4,300 digits
        return f"{type(value).__name__} of very many digits"
    return text if len(text) <= _LONGEST else text[: _LONGEST - 4] + " ..."


def whole_number(value: object, what: str) -> int:
    """The value as a plain int, when it is an integer of Python's or NumPy's, and no bool.

    Raises :class:`OwareError`: ``what`` must be a whole number.
    """
    if type(value) is int:
        return value
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise OwareError(f"{what} must be a whole number, not {shown(value)}")
    return int(value)
