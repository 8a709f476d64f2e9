"""The network that ships: it loads, says how it was made, and plays as the documents say."""

from pathlib import Path

import pytest

import agents
from agents.arena.grading import training_table
from agents.arena.tournament import TournamentSettings, run_tournament
from agents.neural.checkpoint import read_state
from agents.roster import CHAMPION, network_folder, parse_spec
from agents.settings import read_settings
from oware_env import State
from train.config import Config

ROOT = Path(__file__).resolve().parents[2]


def test_it_is_small_and_says_how_it_was_made():
    assert sorted(file.name for file in CHAMPION.iterdir()) == ["ema.safetensors", "state.json"]
    assert (CHAMPION / "ema.safetensors").stat().st_size < 1.4e6
    state = read_state(CHAMPION)
    preset = read_settings(Config, ROOT / "configs" / "alphazero-standard.toml").model_dump()
    for section in ("budget", "selfplay", "learning", "replay"):
        kept = state["config"][section]
        shared = kept.keys() & preset[section].keys()  # settings come and go after it was made
        assert len(shared) > len(preset[section]) / 2
        assert {name: kept[name] for name in shared} == {n: preset[section][n] for n in shared}
    assert state["network"] == preset["network"]
    assert state["minutes"] == pytest.approx(60, abs=1)
    assert "+" not in state["commit"], "made by a commit, not by changed files"


@pytest.mark.parametrize("spec", ["champion", "champion:sims=64", "champion:sims=8,table=6"])
def test_it_is_a_name_of_the_roster(spec):
    assert str(parse_spec(spec)) == spec
    assert network_folder("champion") == CHAMPION and training_table(spec) == 10
    state = State.initial()
    assert agents.choose(agents.make(spec), state) in state.legal_moves


def test_it_beats_alpha_beta():
    """Forty games at 16 simulations: the score is a lower bound with a wide margin."""
    settings = TournamentSettings(
        agents=("champion:sims=16", "alphabeta:depth=4,evaluation=material"), games=40, workers=0
    )
    (match,) = run_tournament(settings).matches
    assert match.score > 0.9
