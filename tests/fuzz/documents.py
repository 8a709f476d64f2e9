"""Hostile documents: what JSON, TOML and option lists say, changed where it means something.

A document is made of dicts, lists and plain values. Values that no writer of Python's can write (a
number of 5,000 digits, a list nested 20,000 deep) stand in it as :class:`Raw` text.
"""

import json
import math
import random
import re
from collections.abc import Sequence
from typing import Any

from tests.fuzz.engine import mutate_text, token


class Raw(str):
    """Text that stands in a document as it is, without quotes."""


_MARK = "\N{SYMBOL FOR SUBSTITUTE}raw:"
_HOSTILE: tuple[Any, ...] = (
    None,
    True,
    False,
    0,
    1,
    -1,
    2,
    7,
    24,
    127,
    128,
    300,
    32768,
    40_000,
    10**12,
    2**31 - 1,
    2**31,
    2**63 - 1,
    2**63,
    2**64,
    -(2**63) - 1,
    10**40,
    0.0,
    -0.0,
    0.5,
    3.7,
    1e-320,
    1e300,
    math.inf,
    -math.inf,
    math.nan,
    "",
    "0",
    "a",
    " ",
    "running",
    "é",
    "\x1b[31m",
    "\0",
    "a\nb",
    "\ud800",
    "..",
    "a" * 300,
    [],
    {},
    [1],
    [[[]]],
    {"a": {"a": 1}},
    [None] * 40,
    Raw("9" * 5000),
    Raw("-" + "9" * 5000),
    Raw("[" * 20_000 + "]" * 20_000),
    Raw("[" * 20_000),
    Raw("1" * 400 + ".5"),
)


def hostile(draw: random.Random) -> Any:
    """A value that hardly any place is made for."""
    return plain(draw.choice(_HOSTILE))


def _places(document: Any) -> list[tuple[Any, Any]]:
    """Every (container, key) of a document."""
    found: list[tuple[Any, Any]] = []
    waiting = [document]
    while waiting:
        one = waiting.pop()
        keys = list(one) if isinstance(one, dict) else list(range(len(one)))
        for key in keys:
            found.append((one, key))
            if isinstance(one[key], dict | list):
                waiting.append(one[key])
    return found


def _nudged(draw: random.Random, value: Any) -> Any:
    """A value that is nearly the same, or the same said otherwise."""
    if isinstance(value, bool):
        return draw.choice((not value, int(value), str(value)))
    if isinstance(value, int):
        return draw.choice(
            (value + 1, value - 1, -value, value * 2, float(value), str(value), [value])
        )
    if isinstance(value, float):
        return draw.choice(
            (value + 1, -value, str(value), value / 3, int(value) if abs(value) < 1e9 else 0)
        )
    if isinstance(value, str):
        return draw.choice(
            (value + "x", value[:-1], value.upper(), [value], mutate_text(draw, [value]))
        )
    if isinstance(value, list):
        return draw.choice(
            (value[1:], value + value[-1:], value[::-1], value[:1], _by_place(value))
        )
    if isinstance(value, dict):
        return draw.choice((list(value.values()), dict(list(value.items())[1:]), [plain(value)]))
    return hostile(draw)


def _by_place(values: Sequence[Any]) -> dict[str, Any]:
    return {str(place): value for place, value in enumerate(values)}


def change_document(draw: random.Random, document: Any) -> None:
    """One change inside a document, in place."""
    places = _places(document)
    if not places:
        if isinstance(document, dict):
            document["a"] = hostile(draw)
        return
    box, key = draw.choice(places)
    other_box, other_key = draw.choice(places)
    match draw.randrange(8):
        case 0 | 1:
            box[key] = hostile(draw)
        case 2 | 3:
            box[key] = _nudged(draw, box[key])
        case 4:
            del box[key]
        case 5 if isinstance(box, dict):
            box[draw.choice((token(draw), str(other_key), f"{key}x"))] = box.pop(key)
        case 5:
            box.insert(key, box[key])
        case 6:
            box[key], other_box[other_key] = plain(other_box[other_key]), plain(box[key])
        case _:
            box[key] = plain(other_box[other_key])


def plain(value: Any) -> Any:
    """A deep copy of plain data, so that no document holds itself."""
    if isinstance(value, dict):
        return {key: plain(one) for key, one in value.items()}
    if isinstance(value, list):
        return [plain(one) for one in value]
    return value


def mutate_document(draw: random.Random, document: Any, most: int = 3) -> Any:
    """A copy of a document with one to ``most`` changes."""
    document = plain(document)
    for _ in range(draw.randint(1, most)):
        change_document(draw, document)
    return document


def _marked(value: Any) -> Any:
    """The document with what is raw as text that :func:`json_text` finds again."""
    if isinstance(value, Raw):
        return _MARK + value + _MARK
    if isinstance(value, dict):
        return {str(key): _marked(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_marked(one) for one in value]
    return value


_RAW = re.compile(f'"{re.escape(_MARK)}(.*?){re.escape(_MARK)}"', re.DOTALL)


def json_text(document: Any, indent: int | None = None) -> str:
    """A document as JSON, NaN and infinities as Python writes them."""
    text = json.dumps(_marked(document), ensure_ascii=False, indent=indent)
    return _RAW.sub(lambda found: found[1], text) if _MARK in text else text


def toml_text(document: dict[str, Any]) -> str:
    """A document as TOML: plain keys first, then a section for each dict."""
    plain_keys = {key: one for key, one in document.items() if not isinstance(one, dict)}
    lines = [f"{_key(key)} = {_toml(one)}" for key, one in plain_keys.items()]
    for key, one in document.items():
        if isinstance(one, dict):
            lines += ["", f"[{_key(key)}]"]
            lines += [f"{_key(name)} = {_toml(value)}" for name, value in one.items()]
    return "\n".join(lines) + "\n"


def _key(key: Any) -> str:
    return (
        key
        if re.fullmatch(r"[A-Za-z0-9_-]+", str(key))
        else json.dumps(str(key), ensure_ascii=False)
    )


def _toml(value: Any) -> str:
    if isinstance(value, Raw):
        return str(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, list):
        return f"[{', '.join(map(_toml, value))}]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_key(key)} = {_toml(one)}" for key, one in value.items()) + "}"
    return '"None"' if value is None else json.dumps(value, ensure_ascii=False)


_NUMBERS = ("0", "1", "2", "8", "64", "-1", "+5", "007", "0.5", "1.", "1e2", "2e-3", "1_0", " 8 ")


def mutate_words(draw: random.Random, words: Sequence[str], others: Sequence[str]) -> list[str]:
    """A command line with one to three changes; ``others`` are words that might stand in it."""
    changed = list(words)
    if draw.randrange(3) == 0:  # another value of an option, such as may be right
        values = [place for place, word in enumerate(words) if not word.startswith("-")]
        place = draw.choice(values)
        changed[place] = draw.choice((*_NUMBERS, mutate_text(draw, [words[place]])))
        return changed
    for _ in range(draw.choice((1, 1, 2, 3))):
        place = draw.randrange(len(changed) + 1)
        match draw.randrange(7):
            case 0:
                changed[place:place] = [draw.choice(others)]
            case 1:
                del changed[place : place + draw.choice((1, 1, 2))]
            case 2:
                changed[place : place + 1] = [token(draw)]
            case 3 if place < len(changed):
                changed[place] = mutate_text(draw, [changed[place]])
            case 4 if place < len(changed):
                changed[place : place + 1] = [changed[place]] * draw.choice((2, 2, 3))
            case 5 if place + 1 < len(changed):
                changed[place : place + 2] = changed[place : place + 2][::-1]
            case _:
                changed[place : place + 1] = [draw.choice(others), token(draw)]
    return changed
