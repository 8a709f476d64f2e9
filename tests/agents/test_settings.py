"""Settings: what a file or a command line may say, and the one line that refuses the rest."""

import subprocess
import sys
from typing import Literal

import pytest
from pydantic import Field, ValidationError, model_validator

from agents.console import run_command
from agents.settings import (
    Settings,
    Switch,
    nearest,
    parse_command,
    read_settings,
)
from oware_env.errors import OwareError


class Play(Settings):
    games: int = Field(4, ge=1)
    """Games to play."""
    temperature: float = Field(1.0, ge=0)
    """Randomness of the moves."""
    kind: Literal["fast", "slow"] = "fast"
    """How to play."""
    noise: bool = True
    """Whether to add noise."""


class Plan(Settings):
    """A plan."""

    play: Play = Play()
    """Self-play."""
    agents: tuple[str, ...] = ("random",)
    """Who plays."""
    sizes: tuple[int, ...] = (1, 2)
    """Sizes."""
    folder: str | None = None
    """Where to write."""
    seed: int = 0
    """Seed of all randomness."""
    max_plies: int = 400
    """Move limit."""
    lag: int | float | None = None
    """A union."""

    @model_validator(mode="after")
    def _check(self):
        if self.seed == 13:
            raise ValueError("seed 13 is unlucky: take another")
        return self


class Needy(Settings):
    name: str
    """What to call it."""


def _read(tmp_path, text, model=Plan, **overrides):
    path = tmp_path / "plan.toml"
    path.write_text(text)
    return read_settings(model, path, overrides)


def _parse(*arguments, **changes):
    options = {"description": "Plans.", "positional": "agents", "options": {"resume": "a run"}}
    return parse_command(Plan, arguments, **options | changes)


def test_a_file_changes_only_what_it_names(tmp_path):
    plan = _read(tmp_path, 'agents = ["a", "b"]\nsizes = [3]\n[play]\ngames = 9\ntemperature = 0')
    assert plan == Plan(play=Play(games=9, temperature=0.0), agents=("a", "b"), sizes=(3,))
    assert read_settings(Plan) == Plan()


def test_settings_are_frozen_and_survive_their_own_json():
    plan = Plan(agents=["x"], play=Play(kind="slow"))
    with pytest.raises(ValidationError, match="frozen"):
        plan.seed = 3
    assert Plan(**plan.model_dump(mode="json")) == plan


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("sed = 1", "plan.toml: unknown key 'sed'; the nearest is 'seed'"),
        ("[play]\ngamez = 1", "plan.toml: unknown key 'play.gamez'; the nearest is 'play.games'"),
        ("games = 1", "plan.toml: unknown key 'games'; the nearest is 'play.games'"),
        ("[plai]\ngames = 1", "plan.toml: unknown key 'plai'; the nearest is 'play'"),
        ("[play]\ngames = 0", "plan.toml: play.games must be greater than or equal to 1, not 0"),
        ("[play]\ngames = -5", "plan.toml: play.games must be greater than or equal to 1, not -5"),
        ("[play]\ngames = 1.5", "plan.toml: play.games must be a valid integer, not 1.5"),
        ("[play]\ngames = true", "plan.toml: play.games must be a valid integer, not True"),
        ('[play]\ngames = "3"', "plan.toml: play.games must be a valid integer, not '3'"),
        ("[play]\nkind = 'odd'", "plan.toml: play.kind must be 'fast' or 'slow', not 'odd'"),
        ("play = 3", "plan.toml: play must be a section with keys, not 3"),
        ("agents = 3", "plan.toml: agents must be a valid tuple, not 3"),
        ("agents = ['a', 3]", "plan.toml: agents must be a valid string, not 3"),
        ("lag = 'x'", "plan.toml: lag must be a valid integer, not 'x'"),
        ("seed = 13", "plan.toml: seed 13 is unlucky: take another"),
        ("seed = ", "plan.toml is not valid TOML: Invalid value (at end of document)"),
        (
            "a = 1\nb : 2",
            "is not valid TOML: Expected '=' after a key in a key/value pair (at line 2",
        ),
    ],
)
def test_a_wrong_file_is_refused_in_one_line(tmp_path, text, message):
    with pytest.raises(OwareError) as caught:
        _read(tmp_path, text)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value) and "pydantic" not in str(caught.value)


def test_a_missing_key_is_named_with_its_meaning(tmp_path):
    with pytest.raises(OwareError, match=r"plan\.toml: name is missing: What to call it"):
        _read(tmp_path, "", Needy)


def test_files_that_cannot_be_read_are_named(tmp_path):
    with pytest.raises(OwareError, match=r"absent\.toml cannot be read: No such file"):
        read_settings(Plan, tmp_path / "absent.toml")
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(OwareError, match="not text in UTF-8"):
        read_settings(Plan, tmp_path / "binary.toml")


def test_models_made_in_python_raise_the_same_lines():
    with pytest.raises(OwareError, match=r"^games must be a valid integer, not '3'$"):
        Play(games="3")
    with pytest.raises(OwareError, match=r"^unknown key 'gams'; the nearest is 'games'$"):
        Play(gams=3)
    with pytest.raises(OwareError, match=r"^play\.games must be greater"):
        Plan(play={"games": 0})


def test_the_command_line_overrides_the_file(tmp_path):
    path = tmp_path / "plan.toml"
    path.write_text("seed = 5\n[play]\ngames = 7\nnoise = false")
    command = _parse(str(path), "--play.games", "8", "--max-plies", "90", "--sizes", "4", "5")
    assert command.settings == Plan(
        play=Play(games=8, noise=False), seed=5, max_plies=90, sizes=(4, 5)
    )
    assert command.config == path
    assert _parse(str(path), "--play.noise").settings.play.noise is True


def test_words_options_and_switches_are_told_apart():
    command = _parse("a", "b:depth=3", "--play.no-noise", "--resume", "runs/x", "--seed=-3")
    assert command.settings.agents == ("a", "b:depth=3")
    assert command.settings.play.noise is False
    assert command.settings.seed == -3
    assert command.options == {"resume": "runs/x"}
    assert _parse("--folder", "12").settings.folder == "12"
    assert _parse("--play.temperature", "2", "a").settings.play.temperature == 2.0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--sed", "1"], "unknown option --sed; the nearest is '--seed'"),
        (["--play.gamez", "1"], "unknown option --play.gamez; the nearest is '--play.games'"),
        (["--games", "1"], "unknown option --games; the nearest is '--play.games'"),
        (["--no-seed"], "unknown option --no-seed"),
        (["--seed"], "option --seed needs a value"),
        (["--seed", "x"], "seed must be a valid integer, not 'x'"),
        (["--seed", "1.5"], "seed must be a valid integer, not '1.5'"),
        (["--play.games", "-4"], "play.games must be greater than or equal to 1, not -4"),
        (["--play.kind", "odd"], "play.kind must be 'fast' or 'slow', not 'odd'"),
        (["a.toml", "b.toml"], "give one settings file, not 2: a.toml, b.toml"),
        (["absent.toml"], "absent.toml cannot be read: No such file"),
    ],
)
def test_a_wrong_command_line_is_refused_in_one_line(arguments, message):
    with pytest.raises(OwareError) as caught:
        _parse(*arguments)
    assert message in str(caught.value) and "\n" not in str(caught.value)


def test_a_switch_of_the_commands_own_takes_no_value(capsys):
    own = {"options": {"profile": Switch("say where the time went"), "resume": "a run"}}
    assert _parse("--profile", "a", **own).options == {"profile": "True"}
    assert _parse("--profile", "a", **own).settings.agents == ("a",)
    assert _parse("a", **own).options == {}
    for word, message in (
        ("--profil", "unknown option --profil; the nearest is '--profile'"),
        ("--no-profile", "unknown option --no-profile; the nearest is '--profile'"),
        ("--profile=yes", "option --profile takes no value, not 'yes'"),
    ):
        with pytest.raises(OwareError) as caught:
            _parse(word, **own)
        assert str(caught.value) == message
    with pytest.raises(SystemExit):
        _parse("--help", **own)
    shown = capsys.readouterr().out
    assert "--profile: say where the time went\n" in shown and "--resume RESUME: a run\n" in shown


def test_a_stray_word_is_refused_where_none_is_expected():
    with pytest.raises(OwareError, match="unexpected argument 'stray'"):
        _parse("stray", positional=None)


def test_help_shows_every_field_with_its_docstring_and_default(capsys, tmp_path):
    path = tmp_path / "plan.toml"
    path.write_text("[play]\ngames = 77")
    with pytest.raises(SystemExit) as caught:
        _parse(str(path), "--help")
    assert caught.value.code == 0
    shown = capsys.readouterr().out
    for text in ("Plans.", "--play.games INT", "Games to play. (default: 77)", "--max-plies"):
        assert text in shown
    assert "--resume RESUME: a run" in shown and "Whether to add noise." in shown


def _fail(_):
    raise OwareError("one\nline")


def _interrupt(_):
    raise KeyboardInterrupt


def test_commands_end_with_a_line_and_a_code(capsys):
    assert run_command(lambda arguments: None, []) == 0
    assert run_command(_fail, []) == 2
    assert capsys.readouterr().err == "error: one line\n"
    assert run_command(_interrupt, []) == 130
    with pytest.raises(ZeroDivisionError):  # a fault of the program keeps its traceback
        run_command(lambda arguments: 1 / 0, [])


def test_nearest_falls_back_to_the_whole_choice():
    assert nearest("zzz", ["one", "two"]) == "; there are one, two"


def test_importing_the_agents_is_light():
    code = "import sys, agents, agents.workers; print([m for m in %r if m in sys.modules])"
    heavy = ["torch", "pandas", "tyro", "rich", "evalica", "matplotlib"]
    done = subprocess.run(
        [sys.executable, "-c", code % heavy], capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a = " + "[" * 20_000, "plan.toml is not valid TOML: it is nested too deep"),
        ("seed = " + "7" * 5_000, "plan.toml is not valid TOML: "),
        ("seed = 18446744073709551616", "seed must fit 64 bits, not 18446744073709551616"),
        (
            "[play]\ntemperature = nan",
            "plan.toml: play.temperature must be a finite number, not nan",
        ),
        (
            "[play]\ntemperature = inf",
            "plan.toml: play.temperature must be a finite number, not inf",
        ),
        ('name = "a\\u001b[31m"', "name must hold no control character, not 'a\\x1b[31m'"),
        ('agents = ["a", "b\\u0000"]', "agents must hold no control character, not 'b\\x00'"),
        (f"[play]\nkind = '{'x' * 9_999}'", "play.kind must be 'fast' or 'slow', not 'xxx"),
    ],
)
def test_what_no_setting_can_be_is_refused_in_one_short_line(tmp_path, text, message):
    with pytest.raises(OwareError) as caught:
        _read(tmp_path, text)
    said = str(caught.value)
    assert message in said and "\n" not in said and said.isprintable()
    assert len(said) < len(str(tmp_path)) + 300


def test_a_byte_order_mark_is_no_fault(tmp_path):
    assert _read(tmp_path, "\ufeffseed = 3") == Plan(seed=3)


@pytest.mark.parametrize("text", ["1_0", "８", " 8 ", "8 ", "0x8", "1e1", "--8", "", "9" * 5_000])
def test_a_whole_number_is_written_in_plain_digits(text):
    with pytest.raises(OwareError, match="seed must be a valid integer"):
        _parse(f"--seed={text}")


@pytest.mark.parametrize("text", ["1_0.5", "１.5", " 1.5", "nan", "1.5f", "1,5", ""])
def test_a_number_is_written_in_plain_digits(text):
    with pytest.raises(OwareError, match=r"play.temperature must be a"):
        _parse(f"--play.temperature={text}")
