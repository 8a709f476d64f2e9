"""Every number that a user may set has bounds, whatever the command: nothing overflows or hangs."""

import math

import pytest

from agents.arena.tournament import TournamentSettings
from agents.play.command import PlaySettings
from agents.settings import Settings, leaves, read_settings
from agents.tablebase_command import BuildSettings, GradeSettings, ProbeSettings
from oware_env.errors import OwareError
from train.arms import CompareSettings
from train.command import ExportSettings
from train.config import Config

MODELS = (
    Config,
    CompareSettings,
    ExportSettings,
    TournamentSettings,
    PlaySettings,
    BuildSettings,
    ProbeSettings,
    GradeSettings,
)
NEEDED = {TournamentSettings: {"agents": ("random", "greedy")}}


def numbers(kind):
    """(model, dotted key) of every field of a type, or that may be None beside it."""
    return [
        pytest.param(model, key, id=f"{model.__name__}-{key}")
        for model in MODELS
        for key, field in leaves(model).items()
        if field.annotation in (kind, kind | None)
    ]


def refuse(model, key, value):
    with pytest.raises(OwareError) as caught:
        read_settings(model, None, NEEDED.get(model, {}) | {key: value})
    said = str(caught.value)
    assert key.rpartition(".")[2] in said and "\n" not in said and len(said) < 250


@pytest.mark.parametrize(("model", "key"), numbers(int))
@pytest.mark.parametrize("value", [2**63, 2**64, 10**60, -(2**63) - 1, True, 1.0, "1", math.nan])
def test_a_whole_number_has_bounds(model, key, value):
    if (key, value) == ("seed", 2**63):
        return  # seeds may have all 64 bits
    refuse(model, key, value)


@pytest.mark.parametrize(("model", "key"), numbers(float))
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 10**400, True, "1"])
def test_a_number_is_finite(model, key, value):
    refuse(model, key, value)


def test_all_models_of_commands_are_looked_at():
    def below(model):
        return {model}.union(*(below(one) for one in model.__subclasses__()))

    commands = {one for one in below(Settings) if one.__name__.endswith("Settings")} - {Settings}
    ours = {one for one in commands if one.__module__.split(".")[0] in ("agents", "train")}
    assert ours == set(MODELS) - {Config}
