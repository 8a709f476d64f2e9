"""Net size over time: the network becomes larger, forgets nothing, and a resume changes nothing."""

import json
import os
import shutil
import signal

import numpy as np
import pytest
import torch

from agents.neural.checkpoint import load_network, network_from, read_state
from oware_env.errors import OwareError
from train.learner import Learner
from train.ppo import PPO
from train.replay import ReplayWindow
from train.samples import Samples
from train.selfplay import SelfPlayUnit

SMALL_FIRST = {"network": "medium", "network_at_first": "small"}
OLD = "blocks.1.inner.weight"
NEW = "blocks.3.inner.weight"


@pytest.fixture(autouse=True)
def _one_thread():
    torch.set_num_threads(1)


def _samples(count, seed=0):
    random = np.random.default_rng(seed)
    inputs = random.integers(1, 9, (count, 15)).astype(np.uint8)
    policies = random.dirichlet(np.full(6, 0.5), count).astype(np.float32)
    results = random.integers(0, 3, count).astype(np.int8)
    margins = random.integers(-24, 25, count).astype(np.int8)
    values = random.uniform(-1, 1, count).astype(np.float32)
    plies, games = np.arange(count, dtype=np.int32), np.zeros(count, np.int32)
    return Samples(inputs, policies, results, margins, values, plies, games)


@pytest.fixture
def window(tmp_path, tiny):
    window = ReplayWindow(tiny().replay, tmp_path / "replay")
    window.add(_samples(300))
    yield window
    window.close()


@pytest.fixture
def learner(tiny, window):
    """One with a small network that has learned something."""
    learner = Learner(tiny(SMALL_FIRST | {"learning.learning_rate": 5e-3}))
    learner.learn(window, 5, 0.1)
    return learner


def _moments(learner, name):
    parameter = dict(learner.network.named_parameters())[name]
    return learner.optimiser.state.get(parameter)


def test_growing_changes_no_bit_of_what_network_and_average_say(learner):
    inputs = torch.from_numpy(_samples(64, 1).inputs)
    before, average = learner.network, network_from(learner.average, "medium", "the average")
    assert not learner.grow_when_due(0.29) and learner.network is before
    assert learner.grow_when_due(0.3) and learner.network.preset == "medium"
    after = network_from(learner.average, "medium", "the average")
    assert (average.preset, after.preset) == ("small", "medium")
    with torch.no_grad():
        for smaller, larger in ((before, learner.network), (average, after)):
            assert all(
                torch.equal(*pair) for pair in zip(smaller(inputs), larger(inputs), strict=True)
            )
    assert not torch.equal(before(inputs).policy, average(inputs).policy)
    assert not learner.grow_when_due(0.9), "it grows once"


def test_the_optimiser_keeps_what_it_knows_and_learns_the_new_blocks_from_zero(learner, window):
    known = {name: tensor.clone() for name, tensor in _moments(learner, OLD).items()}
    learner.grow_when_due(0.5)
    assert all(torch.equal(known[name], _moments(learner, OLD)[name]) for name in known)
    assert _moments(learner, NEW) is None
    learner.learn(window, 3, 0.5)
    assert (float(_moments(learner, OLD)["step"]), float(_moments(learner, NEW)["step"])) == (8, 3)
    outer = learner.network.state_dict()["blocks.3.outer.weight"]
    assert outer.any() and learner.average["blocks.3.outer.weight"].any()
    decays = {p: g["weight_decay"] for g in learner.optimiser.param_groups for p in g["params"]}
    assert decays.keys() == set(learner.network.parameters())


@pytest.mark.parametrize("grows_before_the_restore", [True, False])
def test_a_restore_before_or_after_the_growth_goes_on_bit_for_bit(
    learner, window, grows_before_the_restore
):
    if grows_before_the_restore:
        learner.grow_when_due(0.5)
        learner.learn(window, 2, 0.5)
    saved = {
        stem: {name: tensor.clone() for name, tensor in named.items()}
        for stem, named in learner.tensors().items()
    }
    other = Learner(learner.config)
    other.restore(saved, learner.steps)
    for each in (learner, other):
        assert each.grow_when_due(0.6) != grows_before_the_restore
        each.learn(window, 4, 0.6)
    for stem, named in learner.tensors().items():
        theirs = other.tensors()[stem]
        assert named.keys() == theirs.keys()
        assert all(torch.equal(named[name], theirs[name]) for name in named), stem


def test_weights_of_neither_size_are_refused(tiny):
    weights = Learner(tiny({"network": "tiny"})).average
    with pytest.raises(OwareError, match=r"does not hold a 'medium' network: .* there, .* here"):
        network_from(weights, "medium", "unit 3")
    weights = Learner(tiny({"network": "medium"})).average
    with pytest.raises(OwareError, match="does not hold a 'small' network"):
        network_from(weights, "small", "unit 3")


def test_a_learner_whose_network_does_not_grow_stays_as_it_is(tiny):
    learner = Learner(tiny())
    network = learner.network
    assert not learner.grow_when_due(1.0) and learner.network is network


RUN = [
    f"--{name}={value}"
    for name, value in {
        "network": "medium",
        "network-at-first": "small",
        "network-grows-at": 0.5,
        "evaluation.times": 0,
        "budget.games": 40,
    }.items()
]


@pytest.fixture(scope="module")
def grown(tmp_path_factory, tiny_toml, run_in):
    """A run of five units whose third is the first that a medium network learns."""
    folder = tmp_path_factory.mktemp("grown")
    assert run_in(folder, tiny_toml, *RUN, "--checkpoints-kept=9", "--checkpoint-minutes=1e-9") == 0
    return folder / "runs" / "tiny"


def test_every_checkpoint_says_which_size_it_holds_and_can_play(grown):
    found = {}
    for folder in sorted((grown / "checkpoints").iterdir()):
        state, network = read_state(folder), load_network(folder)
        assert network.preset == state["network"]
        found[state["units"]] = network.preset
    assert found == {1: "small", 2: "small", 3: "medium", 4: "medium", 5: "medium"}


@pytest.mark.parametrize("units", [1, 2, 3, 4])
def test_a_run_resumed_around_the_growth_ends_like_one_that_ran_through(
    grown, tmp_path, run_in, same_result, units
):
    run = tmp_path / "runs" / "tiny"
    shutil.copytree(grown, run)
    for folder in (run / "checkpoints").iterdir():
        if read_state(folder)["units"] > units:
            shutil.rmtree(folder)
    assert run_in(tmp_path, "--resume", "tiny") == 0
    assert same_result(grown, run)


def test_a_run_killed_at_the_growth_ends_like_one_that_ran_through(
    grown, tiny_toml, tmp_path, run_in, same_result, monkeypatch, capsys
):
    grow, calls = Learner.grow_when_due, []

    def interrupted(self, progress):
        calls.append(progress)
        if len(calls) == 3:
            os.kill(os.getpid(), signal.SIGINT)
        return grow(self, progress)

    with monkeypatch.context() as patches:
        patches.setattr(Learner, "grow_when_due", interrupted)
        assert run_in(tmp_path, tiny_toml, *RUN) == 130
    assert calls == pytest.approx([0.2, 0.4, 0.6])
    assert "the network grew" in capsys.readouterr().out
    assert run_in(tmp_path, "--resume", "tiny") == 0
    assert same_result(grown, tmp_path / "runs" / "tiny")


@pytest.mark.slow
def test_two_workers_learn_the_same_around_the_growth(
    grown, tiny_toml, tmp_path, run_in, same_result
):
    assert run_in(tmp_path, tiny_toml, *RUN, "--workers=2") == 0
    assert same_result(grown, tmp_path / "runs" / "tiny")


def test_a_checkpoint_of_another_size_is_refused(finished, tmp_path, run_in, capsys):
    run = tmp_path / "runs" / "tiny"
    shutil.copytree(finished, run)
    text = (run / "config.toml").read_text().replace('network = "tiny"', 'network = "small"')
    (run / "config.toml").write_text(text)
    capsys.readouterr()
    assert run_in(tmp_path, "--resume", "tiny", "--budget.games", "64") == 2
    err = capsys.readouterr().err
    assert "holds a 'tiny' network, the run is configured for 'small'" in err


def test_ppo_plays_a_past_self_that_was_smaller(tiny_ppo):
    ppo = PPO(tiny_ppo(SMALL_FIRST))
    assert ppo.learner.grow_when_due(0.5)
    played = ppo.play(SelfPlayUnit(ppo.unit_weights(1), ppo.config, 1))
    ppo.learn(played, 0.5, 10)
    assert len(played.ends.plies) == ppo.config.selfplay.games
    assert json.dumps(ppo.state()) and ppo.learner.steps > 0
