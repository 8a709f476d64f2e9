"""The roster: what a spec may say, its normal form, and the line that refuses the rest."""

import numpy as np
import pytest

import agents
from agents.roster import ROSTER, describe_roster, is_path, parse_spec
from oware_env import Rules, State
from oware_env.errors import OwareError


@pytest.mark.parametrize(
    ("spec", "normal"),
    [
        ("random", "random"),
        (" greedy ", "greedy"),
        ("alphabeta", "alphabeta:depth=6"),
        ("alphabeta:depth=8", "alphabeta:depth=8"),
        ("alphabeta:evaluation=material,depth=4", "alphabeta:depth=4,evaluation=material"),
        ("alphabeta:depth=4, evaluation=full", "alphabeta:depth=4"),
        ("alphabeta:time=0.50", "alphabeta:time=0.5"),
        ("alphabeta:table=14,time=0.1", "alphabeta:time=0.1,table=14"),
        ("alphabeta:table=8", "alphabeta:depth=6,table=8"),
        ("mcts", "mcts:sims=200"),
        ("mcts:time=0.10", "mcts:time=0.1"),
        ("mcts:reuse=yes", "mcts:sims=200,reuse=yes"),
        ("mcts:choice=lcb,reuse=no,sims=8", "mcts:sims=8"),
        ("runs/quick", "runs/quick"),
        ("runs/quick:table=8,choice=visits,time=2", "runs/quick:time=2,choice=visits,table=8"),
        ("runs/quick:sims=64", "runs/quick:sims=64"),
        ("./elsewhere/run:sims=8", "./elsewhere/run:sims=8"),
    ],
)
def test_specs_have_one_normal_form_that_reads_back(spec, normal):
    assert str(parse_spec(spec)) == normal
    assert parse_spec(normal) == parse_spec(spec)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("alphabta:depth=4", "unknown agent 'alphabta'; the nearest is 'alphabeta'"),
        ("runs", "'runs/NAME'"),
        ("zzzzzz", "unknown agent 'zzzzzz'; there are random, greedy"),
        ("alphabeta:dept=4", "alphabeta has no parameter 'dept'; the nearest is 'depth'"),
        ("random:seed=4", "random has no parameter 'seed'; it takes none"),
        ("alphabeta:depth", "write parameters as key=value, not 'depth'"),
        ("alphabeta:", "write parameters as key=value, not ''"),
        ("alphabeta:depth=x", "depth must be a whole number from 1 to 60, not 'x'"),
        ("alphabeta:depth=2.5", "depth must be a whole number from 1 to 60, not '2.5'"),
        ("alphabeta:depth=0", "depth must be a whole number from 1 to 60, not '0'"),
        ("alphabeta:depth=-4", "not '-4'"),
        ("alphabeta:time=nan", "time must be a number from 0.001 to 86,400, not 'nan'"),
        ("alphabeta:depth=4,depth=5", "depth is given twice"),
        ("alphabeta:depth=4,time=1", "give either depth or time, not both"),
        ("alphabeta:evaluation=none", "evaluation must be one of full, material, not 'none'"),
        ("alphabeta:depth=4,table=0", "table must be a whole number from 1 to 24, not '0'"),
        ("alphabeta:depth=4,table=23", "build it with oware-tablebase build --seeds 23"),
        ("mcts:sims=0", "sims must be a whole number from 1 to 1,000,000, not '0'"),
        ("mcts:table=99", "table must be a whole number from 1 to 24, not '99'"),
        ("mcts:table=23", "build it with oware-tablebase build --seeds 23"),
        ("mcts:time=0.0001", "time must be a number from 0.001 to 86,400, not '0.0001'"),
        ("mcts:sims=8,time=1", "give either sims or time, not both"),
        ("mcts:reuse=1", "reuse must be one of no, yes, not '1'"),
        ("mcts:choice=best", "choice must be one of lcb, visits, not 'best'"),
        ("./x:time=1,sims=4", "give either sims or time, not both"),
        ("./x:table=8", "table is for a search: give sims or time as well"),
        ("./x:reuse=yes", "reuse is for a search: give sims or time as well"),
        ("", "an agent spec is text such as 'alphabeta:depth=8', not ''"),
        (7, "not 7"),
    ],
)
def test_a_wrong_spec_is_refused_in_one_line(spec, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # a folder runs of this checkout would be a run
    with pytest.raises(OwareError) as caught:
        agents.make(spec)
    assert message in str(caught.value) and "\n" not in str(caught.value)


def test_a_folder_without_a_run_is_refused(tmp_path):
    with pytest.raises(OwareError, match="absent"):
        agents.make(str(tmp_path / "absent"))


def test_an_existing_folder_needs_no_slash_to_be_a_path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine").mkdir()
    (tmp_path / "random").mkdir()
    assert is_path("mine") and not is_path("other")
    assert not is_path("random")  # names of the roster come first


@pytest.mark.parametrize("name", ROSTER)
def test_every_entry_is_made_under_its_normal_name_and_plays(name):
    agent = agents.make(name)
    assert agent.name == str(parse_spec(name))
    state = State.initial()
    move = agents.choose(agent, state, seed=3)
    assert move in state.legal_moves
    assert move == agents.choose(agents.make(name), state, seed=3)


@pytest.mark.parametrize("spec", ["alphabeta:depth=3,table=4", "mcts:sims=8,table=4"])
def test_a_search_is_given_its_table(spec):
    agent = agents.make(spec)
    assert agent.name == spec
    won = State.parse("0-0-1-1-1-0-0-0-1-0-0-0-22-22-S")  # E wins; C and D lose
    assert agents.choose(agent, won) == 4


def test_an_agent_serves_as_an_opponent():
    from oware_env.positions import as_positions

    positions = as_positions(State.initial().board[None], np.zeros(1), np.ones(1, np.uint64))
    moves = agents.as_opponent(agents.make("greedy"))(positions)
    assert moves.shape == (1,) and 0 <= moves[0] < 6


def test_rules_that_cannot_be_played_are_refused():
    with pytest.raises(OwareError, match="max_plies"):
        agents.make("random", Rules(max_plies=0))


def test_the_roster_describes_every_entry_and_parameter():
    text = describe_roster()
    for name, entry in ROSTER.items():
        assert f"  {name:<16}{entry.idea}\n" in text
        assert all(f"      {key}: " in text for key in entry.parameters)
    assert "runs/NAME" in text
