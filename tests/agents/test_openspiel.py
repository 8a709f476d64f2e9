"""OpenSpiel's own search as an agent: the adapter, its decisions, its spec, the missing package."""

import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import agents
from agents.arena.match import play_match
from agents.arena.tournament import TournamentSettings, run_tournament
from agents.roster import parse_spec
from agents.settings import read_settings
from oware_env.errors import OwareError
from oware_env.positions import Positions, game_keys
from oware_env.rules import Rules, status
from oware_env.state import State

pyspiel = pytest.importorskip("pyspiel")

from open_spiel.python.algorithms import mcts  # noqa: E402

from agents.openspiel import OpenSpielMcts, SearchedState  # noqa: E402

GAME = pyspiel.load_game("oware")
# South wins with F, which makes 2 in house a; after A North runs away.
WIN_IN_ONE = "1-0-0-0-0-1-1-0-2-0-2-0-23-18-S"


def of_states(states, seed=0):
    return Positions(
        np.array([state.board for state in states]),
        np.array([state.ply for state in states], np.int32),
        game_keys(np.uint64(seed), np.arange(len(states))),
    )


def same(left, right):
    return all(np.array_equal(a, b) for a, b in zip(left, right, strict=True))


def test_the_adapter_says_what_the_state_says(random_game):
    ends = set()
    for seed in range(30):
        states = random_game(seed)
        searched = SearchedState(states[0])
        for before, after in pairwise(states):
            player = 0 if before.south_to_move else 1
            assert searched.current_player() == player and not searched.is_terminal()
            assert searched.legal_actions() == searched.legal_actions(player) == before.legal_moves
            assert searched.legal_actions(1 - player) == ()
            assert searched.returns() == [0.0, 0.0] and not searched.is_chance_node()
            copy = searched.clone()
            searched.apply_action(next(m for m in before.legal_moves if before.play(m) == after))
            assert copy.legal_actions() == before.legal_moves, "a move changed the copy"
        winner = states[-1].outcome.winner
        ends.add(winner)
        assert searched.is_terminal() and searched.legal_actions() == ()
        assert searched.current_player() == pyspiel.PlayerId.TERMINAL
        assert searched.returns() == {"south": [1, -1], "north": [-1, 1], None: [0, 0]}[winner]
    assert {"south", "north"} <= ends


def tree_of(state):
    """What OpenSpiel's search finds with fixed random numbers: all nodes to the third level."""
    draws = np.random.RandomState(5)
    # Rollouts of 12 plies: too short for OpenSpiel's repetition rule to speak.
    evaluator = mcts.RandomRolloutEvaluator(2, draws, max_length=12)
    root = mcts.MCTSBot(GAME, 1.5, 300, evaluator, random_state=draws).mcts_search(state)
    level, found = [root], []
    for _ in range(3):
        level = [child for node in level for child in node.children]
        outcomes = [None if n.outcome is None else list(n.outcome) for n in level]
        counts = [(n.action, n.player, n.explore_count, n.total_reward) for n in level]
        found.append((counts, outcomes))
    return found


# Games that end with 14 seeds or more on the board: with a handful, positions soon repeat.
@pytest.mark.parametrize("seed", [1, 2, 4, 8])
@pytest.mark.parametrize("left", [8, 5, 100])
def test_the_search_of_our_rules_is_the_search_of_openspiels_game(random_game, seed, left):
    # The same tree, node for node, from a position early in the game or near its end.
    states = random_game(seed)
    stop = max(len(states) - 1 - left, 0)
    theirs = GAME.new_initial_state()
    for before, after in pairwise(states[: stop + 1]):
        theirs.apply_action(next(m for m in before.legal_moves if before.play(m) == after))
    ours = tree_of(SearchedState(states[stop]))
    assert ours == tree_of(theirs)
    if left == 5:
        assert any(outcome is not None for _, outcomes in ours for outcome in outcomes)


def test_decisions_are_legal_and_in_range(positions):
    gathered = positions(40, seed=4)
    decisions = OpenSpielMcts(sims=8).decide(gathered)
    assert decisions.moves.dtype == np.int8
    assert decisions.policy.dtype == decisions.value.dtype == np.float32
    assert decisions.policy.sum(axis=1) == pytest.approx(np.ones(40), abs=1e-6)
    assert (np.abs(decisions.value) <= 1).all()
    for row in range(40):
        legal = status(gathered.boards[row], gathered.plies[row], 400)
        assert legal >> decisions.moves[row] & 1
        assert all(legal >> move & 1 for move in np.flatnonzero(decisions.policy[row]))


@pytest.mark.parametrize("sims", [2, 3])
def test_the_fewest_simulations_still_give_a_move(sims):
    decisions = OpenSpielMcts(sims=sims).decide(of_states([State.initial()]))
    assert decisions.moves[0] in State.initial().legal_moves
    assert decisions.policy.sum() == pytest.approx(1)


@pytest.mark.parametrize("text", [WIN_IN_ONE, "1-0-2-0-2-0-1-0-0-0-0-1-18-23-N"])
def test_a_win_in_one_is_played_in_either_seat(text):
    state = State.parse(text, ply=50)
    assert state.play(5).outcome.winner is not None and not state.play(0).is_over
    for seed in range(10):
        decisions = OpenSpielMcts(sims=30).decide(of_states([state], seed))
        assert decisions.moves[0] == 5 and decisions.value[0] == 1


def test_a_certain_loss_is_seen():
    # Whatever South does, North wins with its next move.
    state = State.parse("2-1-0-0-1-1-0-3-0-5-0-1-12-22-S", ply=106)
    for after in map(state.play, state.legal_moves):
        outcomes = [after.play(reply).outcome for reply in after.legal_moves]
        assert any(outcome and outcome.winner == "north" for outcome in outcomes)
    assert OpenSpielMcts(sims=300).decide(of_states([state])).value[0] == -1


def test_a_decision_depends_on_its_own_position_and_key_alone(positions):
    gathered, agent = positions(12, seed=6), OpenSpielMcts(sims=30)
    together = agent.decide(gathered)
    order = np.random.default_rng(0).permutation(12)
    mixed = OpenSpielMcts(sims=30).decide(Positions(*(array[order] for array in gathered)))
    assert same(mixed, [array[order] for array in together])
    alone = agent.decide(Positions(*(array[3:4] for array in gathered)))
    assert same(alone, [array[3:4] for array in together])
    other = agent.decide(gathered._replace(keys=gathered.keys + np.uint64(1)))
    assert not np.array_equal(other.policy, together.policy)


def test_the_exploration_constant_reaches_the_search():
    start = of_states([State.initial()])
    usual = OpenSpielMcts(sims=200).decide(start).policy
    assert np.array_equal(OpenSpielMcts(sims=200, uct=2.0).decide(start).policy, usual)
    assert OpenSpielMcts(sims=200, uct=0.1).decide(start).policy.max() > usual.max()


def test_more_simulations_play_better():
    result = play_match(OpenSpielMcts(sims=30), "random", games=12)
    assert result.score > 0.8, result


def test_the_search_knows_the_move_limit():
    # One ply before the limit the rows decide: South keeps its lead only by not sowing across.
    state = State.parse("1-0-0-0-0-20-2-2-0-0-0-0-12-11-S", Rules(max_plies=60), ply=59)
    winners = {move: state.play(move).outcome.winner for move in state.legal_moves}
    assert set(winners) == {0, 5}
    decisions = OpenSpielMcts(Rules(max_plies=60), sims=20).decide(of_states([state]))
    assert winners[int(decisions.moves[0])] == "south"


def test_a_finished_game_is_refused():
    over = State.parse("0-0-0-0-0-0-0-0-0-0-0-0-25-23-N")
    with pytest.raises(ValueError, match="the game is over in"):
        OpenSpielMcts(sims=20).decide(of_states([over]))


@pytest.mark.parametrize(
    ("spec", "normal"),
    [
        ("openspiel-mcts", "openspiel-mcts:sims=1000"),
        ("openspiel-mcts:sims=50", "openspiel-mcts:sims=50"),
        ("openspiel-mcts:uct=1.5,sims=50", "openspiel-mcts:sims=50,uct=1.5"),
    ],
)
def test_its_specs_have_one_normal_form(spec, normal):
    assert str(parse_spec(spec)) == normal == agents.make(spec).name


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("openspiel-mcts:sims=1", "sims must be a whole number from 2 to 1,000,000, not '1'"),
        ("openspiel-mcts:sims=many", "not 'many'"),
        ("openspiel-mcts:uct=-1", "uct must be a number from 0 to 1,000, not '-1'"),
        ("openspiel-mcts:uct=nan", "not 'nan'"),
        ("openspiel-mcts:depth=3", "openspiel-mcts has no parameter 'depth'"),
        ("openspiel-mtcs", "the nearest is 'openspiel-mcts'"),
    ],
)
def test_a_wrong_spec_is_refused_in_one_line(spec, message):
    with pytest.raises(OwareError) as caught:
        agents.make(spec)
    assert message in str(caught.value) and "\n" not in str(caught.value)


def test_one_simulation_is_refused_in_code_too():
    with pytest.raises(OwareError, match="at least 2 simulations a move, not 1"):
        OpenSpielMcts(sims=1)


def test_without_the_package_one_line_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyspiel", None)
    monkeypatch.delitem(sys.modules, "agents.openspiel")
    with pytest.raises(OwareError) as caught:
        agents.make("openspiel-mcts")
    assert "pip install open_spiel" in str(caught.value) and "\n" not in str(caught.value)
    assert agents.make("greedy").name == "greedy"  # the rest of the roster does not need it


def test_it_plays_in_a_tournament():
    settings = TournamentSettings(
        agents=("openspiel-mcts:sims=8", "random", "greedy"),
        format="gauntlet",
        games=4,
        workers=0,
    )
    result = run_tournament(settings)
    assert [match.a for match in result.matches] == ["openspiel-mcts:sims=8"] * 2
    assert "openspiel-mcts:sims=8" in str(result)


def test_its_configuration_is_a_gauntlet_of_this_agent():
    path = Path(__file__).resolve().parents[2] / "configs" / "tournament-openspiel.toml"
    settings = read_settings(TournamentSettings, str(path))
    assert settings.agents[0] == "openspiel-mcts:sims=1000"
    assert settings.pairings == [(0, other) for other in range(1, len(settings.agents))]
