"""Settings: frozen models read from TOML and the command line, with one-line error messages.

Every configuration of the project is a :class:`Settings` model that holds all defaults; a TOML
file holds only what differs, and ``--section.field value`` on the command line differs from that.
Names and values are checked here, so neither tyro's boxes nor pydantic's URLs reach the user;
tyro writes the help. Bottom layer of ``agents`` beside ``base``.
"""

import difflib
import io
import os
import re
import shutil
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, get_args, get_origin

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError, model_validator
from pydantic.fields import FieldInfo

from oware_env.errors import OwareError, shown
from oware_env.files import has_controls, read_text

Model = TypeVar("Model", bound="Settings")
_WHOLE = re.compile(r"[+-]?[0-9]+")  # as one is written on a command line
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_NARROWEST = 40  # columns of a help text


class Settings(BaseModel):
    """Base of all settings: frozen, no unknown keys, no silent conversion between types.

    Sections are nested models and lists are tuple fields. Each field has a one-line docstring,
    which is its help on the command line. Numbers are finite and fit 64 bits, texts hold no control
    character.
    """

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        strict=True,
        use_attribute_docstrings=True,
        allow_inf_nan=False,
    )

    if not TYPE_CHECKING:  # type checkers see the fields as parameters

        def __init__(self, **values: Any) -> None:
            try:
                super().__init__(**values)
            except ValidationError as error:
                raise OwareError(_explain(type(self), error)) from None

        # Tells pydantic that nested sections need no call of this: errors keep their full path.
        __init__.__pydantic_base_init__ = True

    @model_validator(mode="before")
    @classmethod
    def _plain_values(cls, data: Any) -> Any:
        """TOML and JSON know lists only, a frozen model holds tuples; nothing in them is odd."""
        if not isinstance(data, dict):
            return data
        found = {key: _tuples(value) for key, value in data.items()}
        for key, value in found.items():
            for one in value if isinstance(value, tuple) else (value,):
                if isinstance(one, int) and not -(2**63) <= one < 2**64:
                    raise ValueError(f"{key} must fit 64 bits, not {shown(one)}")
                if isinstance(one, str) and has_controls(one):
                    raise ValueError(f"{key} must hold no control character, not {shown(one)}")
        return found


def _tuples(value: Any) -> Any:
    """Lists, and those in them, as tuples."""
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


class Switch(str):
    """The help text of a command's own option that takes no value."""


class Command(NamedTuple):
    """A command line, read."""

    settings: Any  # a value of the model that was asked for
    config: Path | None  # the TOML file it started from
    options: dict[str, str]  # the command's own options that were given


def nearest(word: str, candidates: Iterable[str]) -> str:
    """``"; the nearest is 'x'"`` for an error message, or the whole choice when none is near."""
    names = list(candidates)
    found = difflib.get_close_matches(word, names, n=1, cutoff=0.5)
    if not found:  # right name in the wrong section, or the section left out
        leaves = {name.rpartition(".")[2]: name for name in names}
        close = difflib.get_close_matches(word.rpartition(".")[2], leaves, n=1, cutoff=0.6)
        found = [leaves[leaf] for leaf in close]
    return f"; the nearest is {found[0]!r}" if found else f"; there are {', '.join(names)}"


def read_settings(
    model: type[Model], path: str | Path | None = None, overrides: Mapping[str, Any] = {}
) -> Model:
    """The model's defaults, changed by a TOML file, changed by ``overrides`` ({"a.b": value}).

    Raises :class:`OwareError` with one line that names the file, the key and what would be right.
    """
    data = _read_toml(Path(path)) if path is not None else {}
    for key, value in overrides.items():
        *sections, leaf = key.split(".")
        place = data
        for section in sections:
            if not isinstance(place.setdefault(section, {}), dict):
                raise OwareError(f"{path}: {section} must be a section, not {place[section]!r}")
            place = place[section]
        place[leaf] = value
    try:
        return model.model_validate(data)
    except ValidationError as error:
        key = _key_of(model, error)
        in_file = path is not None and key not in overrides
        raise OwareError(f"{path}: " * in_file + _explain(model, error)) from None


def checked(model: type[Model], document: Any, source: str, context: str | None = None) -> Model:
    """A document from a file as a model; raises :class:`OwareError` naming ``source`` and key.

    ``context``: for the validators of the model.
    """
    try:
        return model.model_validate(document, context=context)
    except ValidationError as error:
        raise OwareError(f"{source}: {_explain(model, error)}") from None


def parse_command(
    model: type[Model],
    arguments: Sequence[str],
    *,
    description: str,
    positional: str | None = None,
    options: Mapping[str, str] = {},
) -> Command:
    """Read ``[CONFIG.toml] [words] [--section.field value ...]``; ``--help`` prints and exits.

    Words fill the tuple field ``positional``. ``options`` are the command's own with their help
    texts; each has one value unless its text is a :class:`Switch`. Raises :class:`OwareError` in
    one line.
    """
    fields = leaves(model)
    places, given = _split(arguments, fields, options)
    words = [arguments[place] for place in places]
    configs = [word for word in words if word.endswith(".toml")]
    others = tuple(word for word in words if not word.endswith(".toml"))
    if len(configs) > 1:
        raise OwareError(f"give one settings file, not {len(configs)}: {', '.join(configs)}")
    config = Path(configs[0]) if configs else None
    if "help" in given:
        _print_help(model, config, description, options)
    own = {name: str(given.pop(name)) for name in options if name in given}
    if others and positional is None:
        raise OwareError(f"unexpected argument {others[0]!r}: options start with --, see --help")
    if others and positional is not None:
        given.setdefault(positional, others)
    return Command(read_settings(model, config, given), config, own)


def _read_toml(path: Path) -> dict[str, Any]:
    text = read_text(path, "settings file").removeprefix("\ufeff")
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise OwareError(f"{path} is not valid TOML: it is nested too deep") from None
    except ValueError as error:  # TOMLDecodeError is one, and so is a number of 5,000 digits
        raise OwareError(
            f"{path} is not valid TOML: {' '.join(str(error).split())[:200]}"
        ) from None


def places_of_words(model: type[Settings], arguments: Sequence[str]) -> list[int]:
    """Where the words of a command line stand that are neither options nor values of options."""
    return _split(arguments, leaves(model), {})[0]


def _sections(model: type[Settings]) -> dict[str, type[Settings]]:
    """The fields of a model that are sections."""
    kinds = {name: field.annotation for name, field in model.model_fields.items()}
    return {
        name: kind
        for name, kind in kinds.items()
        if isinstance(kind, type) and issubclass(kind, Settings)
    }


def leaves(model: type[Settings], prefix: str = "") -> dict[str, FieldInfo]:
    """Every field that is no section, by its dotted key."""
    sections = _sections(model)
    found = {prefix + n: field for n, field in model.model_fields.items() if n not in sections}
    for name, section in sections.items():
        found |= leaves(section, f"{prefix}{name}.")
    return found


def _key_of(model: type[Settings], error: ValidationError) -> str:
    """The dotted key of the first fault: sections down to a field, nothing inside its value."""
    parts: list[str] = []
    section: type[Settings] | None = model
    for part in error.errors(include_url=False)[0]["loc"]:
        if section is None:
            break
        parts.append(str(part))
        section = _sections(section).get(str(part))
    return ".".join(parts)


def _explain(model: type[Settings], error: ValidationError) -> str:
    """The first fault in one clause: the key, what is right, what was given."""
    fault = error.errors(include_url=False)[0]
    key = _key_of(model, error)
    if fault["type"] == "extra_forbidden":
        return f"unknown key {key!r}{nearest(key, [*leaves(model), *_sections(model)])}"
    if fault["type"] == "missing":
        return f"{key} is missing: {(leaves(model)[key].description or '').rstrip('.')}"
    if fault["type"] == "value_error":  # raised by a check of our own
        return f"{key}: " * bool(key) + str(fault["ctx"]["error"])
    if fault["type"] == "model_type":
        return f"{key or 'it'} must be a section with keys, not {shown(fault['input'])}"
    right = fault["msg"].removeprefix("Input ").removeprefix("String ").replace("should", "must", 1)
    return f"{key} {right}, not {shown(fault['input'])}"


def _split(
    arguments: Sequence[str], fields: Mapping[str, FieldInfo], options: Mapping[str, str]
) -> tuple[list[int], dict[str, Any]]:
    """Places of the words, and the options, of a command line, converted to their fields' types."""
    words: list[int] = []
    given: dict[str, Any] = {}
    queue = list(arguments)
    while queue:
        word = queue.pop(0)
        if word in ("-h", "--help"):
            given["help"] = True
        elif word.startswith("--"):
            _read_option(word, queue, fields, options, given)
        else:
            words.append(len(arguments) - len(queue) - 1)
    return words, given


def _read_option(
    word: str,
    queue: list[str],
    fields: Mapping[str, FieldInfo],
    options: Mapping[str, str],
    given: dict[str, Any],
) -> None:
    """Take the values of option ``word`` from the queue into ``given``."""
    name, equals, text = word[2:].partition("=")
    key = name.replace("-", "_")
    switched_off = key not in fields and (key.startswith("no_") or ".no_" in key)
    if switched_off:
        key = ".".join([*key.split(".")[:-1], key.split(".")[-1].removeprefix("no_")])
    is_switch = key in fields and fields[key].annotation is bool
    if (key not in fields and key not in options) or (switched_off and not is_switch):
        names = [f"--{known.replace('_', '-')}" for known in (*fields, *options)]
        raise OwareError(f"unknown option --{name}{nearest('--' + name, names)}")
    if isinstance(options.get(key), Switch):
        if equals:
            raise OwareError(f"option --{name} takes no value, not {text!r}")
        given[key] = True
        return
    if is_switch and not equals:
        given[key] = not switched_off
        return
    is_list = key in fields and get_origin(fields[key].annotation) is tuple
    values = [text] if equals else []
    while queue and not queue[0].startswith("--") and (is_list or not values):
        values.append(queue.pop(0))
    if not values:
        raise OwareError(f"option --{name} needs a value")
    if key in options:
        given[key] = values[0]
    else:
        kind = fields[key].annotation
        items = tuple(_convert(value, get_args(kind)[0] if is_list else kind) for value in values)
        given[key] = items if is_list else items[0]


def _convert(text: str, kind: Any) -> Any:
    """Text as a type; what cannot be converted stays text and is refused with the rest."""
    if text == "None" and kind is not str:
        return None
    kinds = {kind, *get_args(kind)}
    shape = _NUMBER if float in kinds else _WHOLE if int in kinds else None
    if shape is not None and not shape.fullmatch(text):
        return text
    try:
        return TypeAdapter(kind).validate_strings(text)
    except ValidationError:
        return text


def _print_help(
    model: type[Model], config: Path | None, description: str, options: Mapping[str, str]
) -> None:
    """Print every field with its docstring and its value in ``config`` (or default); exit 0."""
    import tyro

    defaults: dict[str, Any] = {"default": read_settings(model, config)} if config else {}
    help_text = io.StringIO()
    with suppress(SystemExit), redirect_stdout(help_text), _a_readable_width():
        tyro.cli(model, args=["--help"], **defaults)
    # tyro's usage line and paragraph do not know of words and the command's own options.
    own = [
        f"--{name}: {text}" if isinstance(text, Switch) else f"--{name} {name.upper()}: {text}"
        for name, text in options.items()
    ]
    fields = help_text.getvalue().partition("\n\n")[2].strip()
    print("\n".join([description, *own, "", fields]))
    raise SystemExit(0)


@contextmanager
def _a_readable_width() -> Iterator[None]:
    """Lay help out for a terminal of at least 40 columns: tyro never ends on one of a few."""
    before = os.environ.get("COLUMNS")
    if shutil.get_terminal_size().columns < _NARROWEST:
        os.environ["COLUMNS"] = str(_NARROWEST)
    try:
        yield
    finally:
        if before is not None:
            os.environ["COLUMNS"] = before
        else:
            os.environ.pop("COLUMNS", None)
