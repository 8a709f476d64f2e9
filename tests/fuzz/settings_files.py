"""Settings in TOML, and the JSON documents and logs that the project writes for itself.

Settings: accepted, every key of the file is in the settings with the same value, and the settings
written out are read back the same. Free are what TOML calls free (spaces, comments, ways to write
a value) and a whole number where any number belongs. Sealed documents: only the same content.
"""

import json
import math
import random
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from agents.arena.tournament import TournamentSettings
from agents.settings import Settings, read_settings
from oware_env.errors import OwareError
from oware_env.files import check_seal, parse_json, seal
from tests.fuzz.documents import json_text, mutate_document, toml_text
from tests.fuzz.engine import mutate_bytes, mutate_text
from tests.fuzz.samples import TINY, Workplace
from train.arms import CompareSettings
from train.config import Config
from train.metrics import read_metrics
from train.run import METRICS, config_text

_TRAIN = """\
# A comment
name = "tiny"
algorithm = "alphazero"
seed = 7
network = 'tiny'
workers = 0
checkpoint_minutes = 1.5
budget.games = 48

[selfplay]
games = 8
noise = 0.25
endgames = "search"
table = 4

[learning]
batch = 64
learning_rate = 4e-3

[evaluation]
during = ["random", "alphabeta:depth=2"]
report = false
"""
_TOURNAMENT = """\
agents = ["random", "greedy", "alphabeta:depth=2"]
format = "gauntlet"
games = 16
seed = 3
sprt = false
elo1 = 20.0
error = 0.05
anchor = "random"
output = "runs/cup"
"""
_COMPARE = "seeds = 2\nminutes = 0.5\ngames = 16\nladder = ['random']\noutput = 'runs/ab'\n"
_KINDS: tuple[tuple[type[Settings], str], ...] = (
    (Config, _TRAIN),
    (Config, 'algorithm = "ppo"\n[ppo]\nepochs = 2\nclip = 0.2\n[budget]\nminutes = 2.0\n'),
    (TournamentSettings, _TOURNAMENT),
    (CompareSettings, _COMPARE),
)


def leaves(document: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Every value of a document that is no section, by its dotted key."""
    for key, value in document.items():
        if isinstance(value, dict) and value:
            yield from leaves(value, f"{prefix}{key}.")
        elif not isinstance(value, dict):
            yield prefix + key, value


def is_same(given: Any, read: Any) -> bool:
    """Whether a value of a file is the one in the settings; whole numbers may be any number."""
    if isinstance(given, list):
        if not isinstance(read, tuple) or len(given) != len(read):
            return False
        return all(map(is_same, given, read))
    if isinstance(given, bool) or isinstance(read, bool):
        return given is read
    if isinstance(given, int) and isinstance(read, float):
        return float(given) == read
    if isinstance(given, float) and isinstance(read, float):
        return given == read or (math.isnan(given) and math.isnan(read))
    return type(given) is type(read) and given == read


def changed_settings(given: dict[str, Any], value: Settings) -> str | None:
    """What of a document is not in the settings as it was given."""
    dumped = dict(leaves(value.model_dump()))
    for key, one in leaves(given):
        if key == "agents" and isinstance(one, list):  # in normal form, as the target of specs says
            one = dumped["agents"] if len(one) == len(dumped["agents"]) else ()
            one = list(one)
        if key not in dumped or not is_same(one, dumped[key]):
            return f"another value: {key} = {one!r} is read as {dumped.get(key)!r}"
    for key, one in dumped.items():
        if isinstance(one, float) and not math.isfinite(one):
            return f"no number is taken: {key} = {one}"
    return None


class Toml:
    """Settings files of training runs, tournaments and comparisons, as text and as documents."""

    name, count = "toml", 15_000

    def __init__(self, workplace: Workplace) -> None:
        self._path = workplace.scratch(self.name) / "settings.toml"
        self._documents = [tomllib.loads(text) for _, text in _KINDS]

    def make(self, draw: random.Random) -> tuple[int, bytes]:
        which = draw.randrange(len(_KINDS))
        text = _KINDS[which][1]
        match draw.randrange(4):
            case 0:
                return which, mutate_bytes(draw, text.encode(), _TRAIN.encode())
            case 1 | 2:
                changed = toml_text(mutate_document(draw, self._documents[which]))
            case _:
                changed = mutate_text(draw, [text])
        return which, changed.encode("utf-8", "surrogatepass")

    def read(self, given: tuple[int, bytes]) -> Settings:
        which, content = given
        self._path.write_bytes(content)
        return read_settings(_KINDS[which][0], self._path)

    def changed(self, given: tuple[int, bytes], value: Settings) -> str | None:
        text = given[1].decode().removeprefix("\ufeff")
        found = changed_settings(tomllib.loads(text.replace("\r\n", "\n")), value)
        if found is None and isinstance(value, Config):
            self._path.write_text(config_text(value), encoding="utf-8")
            if read_settings(Config, self._path) != value:
                return f"not read back: {config_text(value)!r}"
        return found


class Sealed:
    """JSON documents with their own checksum: read only when their content is what was written."""

    name, count = "sealed-json", 120_000

    def __init__(self, workplace: Workplace) -> None:
        settings = {key: list(v) if isinstance(v, tuple) else v for key, v in TINY.items()}
        self._document = {"unit": 3, "scores": [8, 40.5], "moves": "DdCé", "settings": settings}
        self._sealed = seal(self._document)
        self._text = json_text(self._sealed)

    def make(self, draw: random.Random) -> bytes:
        if draw.randrange(4):
            return mutate_bytes(draw, self._text.encode(), self._text.encode())
        changed = json_text(mutate_document(draw, self._sealed))
        return changed.encode("utf-8", "surrogatepass")

    def read(self, given: bytes) -> Any:
        try:
            document = parse_json(given)
        except ValueError as error:  # what every caller of it makes of it
            raise OwareError("no JSON") from error
        return check_seal(document, "document.json")

    def changed(self, given: bytes, value: Any) -> str | None:
        return None if value == self._sealed else f"other content is taken: {value!r}"


class Logs:
    """metrics.jsonl of a run: accepted, every line is the object that stands there."""

    name, count = "metrics", 5_000

    def __init__(self, workplace: Workplace) -> None:
        self._folder = workplace.scratch(self.name)
        self._content = (workplace.run / METRICS).read_bytes()
        self._rows = [json.loads(line) for line in self._content.splitlines()]

    def make(self, draw: random.Random) -> bytes:
        if draw.randrange(2):
            return mutate_bytes(draw, self._content, self._content)
        lines = map(json_text, mutate_document(draw, self._rows))
        return "".join(f"{line}\n" for line in lines).encode("utf-8", "surrogatepass")

    def read(self, given: bytes) -> list[dict[str, Any]]:
        (self._folder / METRICS).write_bytes(given)
        return read_metrics(self._folder)

    def changed(self, given: bytes, value: list[dict[str, Any]]) -> str | None:
        lines = given.decode().splitlines()
        rows = [json.loads(line) for line in lines]
        same = json.dumps(rows) == json.dumps(value)  # as text: NaN is not itself
        return None if same else f"read otherwise: {len(rows)} lines as {len(value)} rows"


def write_toml(path: Path, document: dict[str, Any]) -> None:
    """Write a document as TOML."""
    path.write_text(toml_text(document), encoding="utf-8", errors="surrogatepass")
