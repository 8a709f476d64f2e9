"""Trained agents: found by folder or by spec, with and without search, on a device that exists."""

import numpy as np
import pytest
import torch

import agents
from agents.neural.checkpoint import newest_checkpoint, write_checkpoint
from agents.neural.evaluator import NetworkEvaluator, check_device
from agents.neural.network import build_network
from agents.search.match_play import MatchPlay, Mcts
from agents.search.mcts import Search
from agents.trained import (
    EXPLORATION,
    PRIOR_TEMPERATURE,
    PolicyAgent,
    load_agent,
    neural_agent,
)
from oware_env.errors import OwareError
from oware_env.positions import Positions, game_keys
from oware_env.rules import Rules, status
from oware_env.state import State


def write(folder, seed):
    weights = build_network("tiny", seed).state_dict()
    folder.parent.mkdir(parents=True, exist_ok=True)
    write_checkpoint(folder, {"ema": weights}, {"rules": Rules()._asdict(), "network": "tiny"})


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run folder with three checkpoints; the network of step n has seed n."""
    path = tmp_path_factory.mktemp("runs") / "first"
    for step in (9, 100, 20):
        write(path / "checkpoints" / f"step-{step:08d}", step)
    return path


def same(left, right):
    return all(np.array_equal(a, b) for a, b in zip(left, right, strict=True))


def softmax(logits, legal):
    weights = np.where(legal, np.exp(logits - logits.max(axis=1, keepdims=True)), 0)
    return weights / weights.sum(axis=1, keepdims=True)


def test_the_newest_checkpoint_of_a_run_is_the_one_of_the_highest_step(run):
    assert newest_checkpoint(run) == run / "checkpoints" / "step-00000100"
    older = run / "checkpoints" / "step-00000009"
    assert newest_checkpoint(older) == older


def test_a_run_folder_gives_the_agent_of_its_newest_checkpoint(run, positions):
    asked = positions(30)
    answer = load_agent(run).decide(asked)
    by_hand = neural_agent(NetworkEvaluator(build_network("tiny", 100)), None, "x").decide(asked)
    assert same(answer, by_hand)
    older = load_agent(run / "checkpoints" / "step-00000009").decide(asked)
    assert not np.array_equal(older.policy, answer.policy)


def test_without_simulations_the_policy_alone_plays(run, positions):
    asked = positions(60, seed=2)
    agent = load_agent(str(run))
    assert isinstance(agent, PolicyAgent) and agent.name == str(run)
    decisions = agent.decide(asked)
    logits, values = NetworkEvaluator(build_network("tiny", 100))(asked)
    pairs = zip(asked.boards, asked.plies, strict=True)
    codes = np.array([status(board, ply, 400) for board, ply in pairs])
    legal = (codes[:, None] >> np.arange(6) & 1).astype(bool)
    assert decisions.policy == pytest.approx(softmax(logits, legal), abs=1e-6)
    assert np.array_equal(decisions.moves, decisions.policy.argmax(axis=1))
    assert np.array_equal(decisions.value, values)
    assert [array.dtype for array in decisions] == [np.int8, np.float32, np.float32]


def test_equal_chances_are_decided_by_the_key():
    network = build_network("tiny")
    with torch.no_grad():
        network.policy.weight.zero_()
        network.policy.bias.zero_()
    boards = np.repeat(State.initial().board[None], 1200, axis=0)
    asked = Positions(boards, np.zeros(1200, np.int32), game_keys(np.uint64(0), np.arange(1200)))
    agent = neural_agent(NetworkEvaluator(network), None, "even")
    moves = agent.decide(asked).moves
    assert np.bincount(moves, minlength=6) == pytest.approx(np.full(6, 200), abs=60)
    assert np.array_equal(agent.decide(asked).moves, moves)


def test_with_simulations_a_search_plays(run, positions):
    asked = positions(20)
    agent = load_agent(run, play=16)
    assert isinstance(agent, Mcts) and agent.name == f"{run}:sims=16"
    evaluator = NetworkEvaluator(build_network("tiny", 100)).softened(PRIOR_TEMPERATURE)
    search = Search(evaluator, simulations=16, exploration=EXPLORATION)
    assert same(agent.decide(asked), Mcts(search, "x").decide(asked))
    assert (agent.decide(asked).policy * 16 % 1 == 0).all()


@pytest.mark.parametrize("rules", [Rules(), Rules(max_plies=60)])
def test_specs_name_trained_agents(run, positions, rules):
    asked = positions(20, rules=rules)
    plays = ("", None), (":sims=4", 4), (":sims=4,choice=visits", MatchPlay(4, choice="visits"))
    for ending, play in plays:
        spec = f"{run}{ending}"
        agent = agents.make(spec, rules)
        assert agent.name == spec
        assert same(agent.decide(asked), load_agent(run, rules, play=play).decide(asked))
    state = State.initial()
    for limit in ("sims=4", "time=0.01", "sims=4,reuse=yes", "time=0.01,reuse=yes,choice=visits"):
        agent = agents.make(f"{run}:{limit}")
        assert agent.name == f"{run}:{limit}"
        assert agents.choose(agent, state) in state.legal_moves


def test_bad_specs_of_trained_agents_are_refused_in_one_line(run, tmp_path):
    (tmp_path / "empty").mkdir()
    for spec, message in (
        (f"{tmp_path}/absent", f"there is no run or checkpoint folder {tmp_path}/absent"),
        (f"{tmp_path}/empty", f"{tmp_path}/empty holds no checkpoint"),
        (f"{run}:sims=0", "sims must be a whole number from 1"),
        (f"{run}:depth=4", "no parameter 'depth'"),
        (f"{run}:sims=4,time=1", "give either sims or time, not both"),
        (f"{run}:choice=visits", "choice is for a search: give sims or time as well"),
    ):
        with pytest.raises(OwareError) as caught:
            agents.make(spec)
        assert message in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize("place", ["policy", "result"])
def test_a_nan_names_its_board(positions, place):
    asked = positions(9)
    network = build_network("tiny")
    with torch.no_grad():
        getattr(network, place).bias[0] = torch.nan
    agent = neural_agent(NetworkEvaluator(network), None, "broken")
    board = str(asked.boards[0].tolist()).replace("[", r"\[")
    with pytest.raises(ValueError, match=f"the network returned NaN for board {board}"):
        agent.decide(asked)


@pytest.mark.parametrize("device", ["banana", "cuda:99"])
def test_a_device_that_is_not_there_is_refused_in_one_line(device, run):
    for action in (lambda: check_device(device), lambda: load_agent(run, device=device)):
        with pytest.raises(OwareError) as caught:
            action()
        assert str(caught.value).startswith(f"device {device!r} cannot be used: ")
        assert "\n" not in str(caught.value)


@pytest.mark.skipif(torch.cuda.is_available(), reason="needs a machine without a GPU")
def test_cuda_without_a_gpu_is_refused_in_one_line(run):
    with pytest.raises(OwareError, match="device 'cuda' cannot be used: ") as caught:
        agents.make(str(run), device="cuda")
    assert "\n" not in str(caught.value)


def test_the_cpu_is_there():
    check_device("cpu")
