"""The mutation engine: valid samples made hostile, each of them again by its kind and number.

Everything is drawn from one :class:`random.Random` a call, that of :func:`dice`, so an input is a
function of (seed, kind, number) and of the samples. ``documents`` does the same for what has a
structure.
"""

import random
from collections.abc import Callable, Sequence

SEED = 20

# What readers stumble over, wherever it stands. Lengths are those that limits are made for.
TOKENS = (
    "\0",
    "\n",
    "\r",
    "\t",
    "\x1b[2J",
    "\x7f",
    "\x85",
    "\u2028",
    "\u202e",
    "\u200b",
    "\ufeff",
    "\ud800",
    "\udcff",
    "８",
    "٣",
    "²",
    "é",
    "Ａ",
    " ",
    "  ",
    "\xa0",
    '"',
    "'",
    "\\",
    "=",
    "--",
    "-",
    ",",
    ":",
    ";",
    "#",
    ".",
    "(",
    ")",
    "{",
    "}",
    "[",
    "]",
    "*",
    "+",
    "_",
    "%s",
    "{0}",
    "$a$",
    "null",
    "None",
    "true",
    "inf",
    "-inf",
    "nan",
    "NaN",
    "Infinity",
    "0",
    "00",
    "-0",
    "-1",
    "1_0",
    "0x10",
    "1e3",
    "1e999",
    "1e-999",
    "3.5",
    "0.14294967296",
    "127",
    "128",
    "255",
    "256",
    "65536",
    str(2**31 - 1),
    str(2**31),
    str(2**32),
    str(2**63 - 1),
    str(2**63),
    str(2**64),
    str(-(2**63) - 1),
    "1" + "0" * 60,
)
RARE = ("9" * 5000, "a" * 300, "é" * 200, "[" * 20_000, "{" * 20_000, "(" * 20_000, "-1" * 9000)
_ONE_RARE_IN = 60


def dice(kind: str, number: int, seed: int = SEED) -> random.Random:
    """The random numbers of one input."""
    return random.Random(f"{seed} {kind} {number}")


def token(draw: random.Random) -> str:
    """A hostile piece of text; once in a while a very long one."""
    return draw.choice(RARE if draw.randrange(_ONE_RARE_IN) == 0 else TOKENS)


def _span(draw: random.Random, length: int) -> tuple[int, int]:
    """A short part of something so long."""
    start = draw.randrange(length + 1)
    return start, min(length, start + draw.choice((1, 1, 1, 2, 3, 8, 40)))


def _delete(draw: random.Random, text: str, others: Sequence[str]) -> str:
    start, stop = _span(draw, len(text))
    return text[:start] + text[stop:]


def _duplicate(draw: random.Random, text: str, others: Sequence[str]) -> str:
    start, stop = _span(draw, len(text))
    return text[:stop] + text[start:stop] * draw.choice((1, 1, 2, 30)) + text[stop:]


def _insert(draw: random.Random, text: str, others: Sequence[str]) -> str:
    start = draw.randrange(len(text) + 1)
    return text[:start] + token(draw) + text[start:]


def _replace(draw: random.Random, text: str, others: Sequence[str]) -> str:
    start, stop = _span(draw, len(text))
    return text[:start] + token(draw) + text[stop:]


def _flip(draw: random.Random, text: str, others: Sequence[str]) -> str:
    if not text:
        return token(draw)
    place = draw.randrange(len(text))
    flipped = ord(text[place]) ^ 1 << draw.randrange(7)
    return text[:place] + chr(flipped) + text[place + 1 :]


def _swap(draw: random.Random, text: str, others: Sequence[str]) -> str:
    first, second = sorted((_span(draw, len(text)), _span(draw, len(text))))
    if first[1] > second[0]:
        return text[first[0] :] + text[: first[0]]
    one, two = text[slice(*first)], text[slice(*second)]
    return text[: first[0]] + two + text[first[1] : second[0]] + one + text[second[1] :]


def _truncate(draw: random.Random, text: str, others: Sequence[str]) -> str:
    return text[: draw.randrange(len(text) + 1)]


def _splice(draw: random.Random, text: str, others: Sequence[str]) -> str:
    other = draw.choice(others)
    return text[: draw.randrange(len(text) + 1)] + other[draw.randrange(len(other) + 1) :]


def _case(draw: random.Random, text: str, others: Sequence[str]) -> str:
    start, stop = _span(draw, len(text))
    return text[:start] + text[start:stop].swapcase() + text[stop:]


def _numbers(draw: random.Random, text: str, others: Sequence[str]) -> str:
    """Another digit in the place of one."""
    places = [place for place, letter in enumerate(text) if letter.isdigit()]
    if not places:
        return _insert(draw, text, others)
    place = draw.choice(places)
    return text[:place] + draw.choice("0123456789") + text[place + 1 :]


_TEXT: tuple[Callable[[random.Random, str, Sequence[str]], str], ...] = (
    _delete,
    _duplicate,
    _insert,
    _insert,
    _replace,
    _replace,
    _flip,
    _swap,
    _truncate,
    _splice,
    _case,
    _numbers,
)


def mutate_text(draw: random.Random, samples: Sequence[str]) -> str:
    """One of the samples with one to four changes; one in a hundred has none."""
    text = draw.choice(samples)
    for _ in range(draw.choice((1, 1, 1, 2, 2, 3, 4)) if draw.randrange(100) else 0):
        text = draw.choice(_TEXT)(draw, text, samples)
    return text


def mutate_bytes(draw: random.Random, content: bytes, other: bytes = b"") -> bytes:
    """Bytes with one to three changes, of which half are a single flipped bit."""
    if draw.randrange(2) and content:
        return flip_bit(draw, content)
    for _ in range(draw.choice((1, 1, 2, 3))):
        content = _change_bytes(draw, content, other)
    return content


def flip_bit(draw: random.Random, content: bytes) -> bytes:
    """The bytes with one bit turned over."""
    changed = bytearray(content)
    changed[draw.randrange(len(changed))] ^= 1 << draw.randrange(8)
    return bytes(changed)


def _change_bytes(draw: random.Random, content: bytes, other: bytes) -> bytes:
    start, stop = _span(draw, len(content))
    match draw.randrange(8):
        case 0:
            return content[:start] + content[stop:]
        case 1:
            return content[:stop] + content[start:stop] * draw.choice((1, 2, 100)) + content[stop:]
        case 2:
            return content[:start] + token(draw).encode("utf-8", "surrogatepass") + content[stop:]
        case 3:
            return content[:start]
        case 4:
            return content[:start] + other[draw.randrange(len(other) + 1) :]
        case 5:
            return content[:start] + draw.choice((b"\0", b"\xff")) * (stop - start) + content[stop:]
        case 6:
            return content + draw.randbytes(draw.choice((1, 5, 64)))
        case _:
            return content[:start] + draw.randbytes(stop - start) + content[stop:]
