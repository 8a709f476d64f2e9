"""The learner: it learns, follows its formulas, and goes on exactly after a restore."""

import math

import numpy as np
import pytest
import torch
from torch.nn import functional

from agents.neural.checkpoint import read_tensors, write_checkpoint
from agents.neural.network import MARGIN_CLASSES, Heads
from oware_env.encoding import NETWORK_SIZE
from oware_env.errors import OwareError
from train.learner import Learner, losses, masked_policy, result_targets, value_losses
from train.replay import ReplayWindow
from train.samples import DRAW, LOSS, UNKNOWN_MARGIN, WIN, Samples


@pytest.fixture(autouse=True)
def _one_thread():
    torch.set_num_threads(1)


def _samples(count, seed=0):
    """Distinct positions with seeds in every house of the mover, and targets without a pattern."""
    random = np.random.default_rng(seed)
    inputs = random.integers(1, 9, (count, NETWORK_SIZE)).astype(np.uint8)
    policies = random.dirichlet(np.full(6, 0.5), count).astype(np.float32)
    results = random.integers(0, 3, count).astype(np.int8)
    margins = random.integers(-24, 25, count).astype(np.int8)
    values = random.uniform(-1, 1, count).astype(np.float32)
    plies, games = np.arange(count, dtype=np.int32), np.zeros(count, np.int32)
    return Samples(inputs, policies, results, margins, values, plies, games)


@pytest.fixture
def window(tmp_path, tiny):
    """A replay window of 300 samples."""
    window = ReplayWindow(tiny().replay, tmp_path / "replay")
    window.add(_samples(300))
    yield window
    window.close()


def _equal(first, second):
    return first.keys() == second.keys() and all(torch.equal(first[k], second[k]) for k in first)


def _heads(seed, count):
    generator = torch.Generator().manual_seed(seed)
    return Heads(*(torch.randn(count, n, generator=generator) for n in (6, 3, MARGIN_CLASSES)))


def _targets(samples):
    return {
        "policies": torch.from_numpy(samples.policies),
        "results": torch.from_numpy(samples.results).long(),
        "margins": torch.from_numpy(samples.margins).long(),
    }


def test_the_learner_overfits_64_samples_down_to_their_entropy(tiny):
    samples = _samples(64)
    learner = Learner(tiny({"learning.learning_rate": 5e-3, "learning.warmup_steps": 10}))
    first = learner.step(samples, 0.0)
    for _ in range(298):
        learner.step(samples, 0.0)
    last = learner.step(samples, 0.0)
    policies = np.maximum(samples.policies, 1e-12)
    entropy = float(-(samples.policies * np.log(policies)).sum(axis=1).mean())
    assert first["policy"] > entropy + 0.3 and first["result"] > 1.0 and first["margin"] > 4.0
    assert entropy - 1e-4 < last["policy"] < entropy + 0.01
    assert last["result"] < 0.01 and last["margin"] < 0.05


def test_the_averaged_weights_learn_what_the_network_learns(tiny):
    samples = _samples(64)
    learner = Learner(tiny({"learning.average": 0.95, "learning.learning_rate": 5e-3}))
    for _ in range(200):
        learner.step(samples, 0.0)
    learner.network.load_state_dict(learner.average)
    heads = masked_policy(learner.network(torch.from_numpy(samples.inputs)), _inputs(samples))
    assert losses(heads, _targets(samples), 0.0)["result"] < 0.05


def _inputs(samples):
    return torch.from_numpy(samples.inputs)


def test_losses_are_the_mean_cross_entropies_of_the_three_heads():
    samples, heads = _samples(8), _heads(1, 8)
    found = losses(heads, _targets(samples), 0.5)
    policy = functional.cross_entropy(heads.policy, torch.from_numpy(samples.policies))
    result = functional.cross_entropy(heads.result, torch.from_numpy(samples.results).long())
    classes = torch.from_numpy(samples.margins).long() + 48
    margin = functional.cross_entropy(heads.margin, classes)
    for name, expected in {"policy": policy, "result": result, "margin": margin}.items():
        assert torch.allclose(found[name], expected, atol=1e-5), name
    assert torch.allclose(found["total"], policy + result + 0.5 * margin, atol=1e-5)


def test_rows_without_a_target_do_not_count():
    samples, heads = _samples(8), _heads(1, 8)
    samples.policies[2:5] = 0.0
    samples.margins[4:8] = UNKNOWN_MARGIN
    found = losses(heads, _targets(samples), 1.0)
    searched, known = np.r_[0:2, 5:8], np.r_[0:4]
    for name, rows in {"policy": searched, "margin": known}.items():
        part = Samples(*(array[rows] for array in samples))
        alone = losses(Heads(*(head[rows] for head in heads)), _targets(part), 1.0)
        assert torch.allclose(found[name], alone[name], atol=1e-5), name


def test_a_batch_without_any_policy_or_margin_gives_no_loss_and_no_gradient_there():
    samples, heads = _samples(8), _heads(1, 8)
    samples.policies[:] = 0.0
    samples.margins[:] = UNKNOWN_MARGIN
    heads = Heads(*(head.requires_grad_() for head in heads))
    found = losses(heads, _targets(samples), 1.0)
    found["total"].backward()
    assert found["policy"] == 0.0 and found["margin"] == 0.0
    assert not heads.policy.grad.any() and not heads.margin.grad.any()
    assert heads.result.grad.any()


# Result, value of the search, and the chances of win, draw and loss with a mix of 0.25.
MIXED = [
    (WIN, 1.0, (1, 0, 0)),
    (WIN, 0.0, (0.875, 0, 0.125)),
    (WIN, -0.6, (0.8, 0, 0.2)),
    (DRAW, 0.2, (0.15, 0.75, 0.1)),
    (DRAW, 0.0, (0, 1, 0)),  # proved by a table
    (LOSS, 0.5, (0.1875, 0, 0.8125)),
    (LOSS, -1.0, (0, 0, 1)),
    (LOSS, math.nan, (0, 0, 1)),
    (DRAW, math.nan, (0, 1, 0)),
]


def test_a_mix_moves_the_result_towards_the_value_of_the_search():
    results = torch.tensor([row[0] for row in MIXED])
    values = torch.tensor([row[1] for row in MIXED])
    found = result_targets(results, values, 0.25)
    assert torch.allclose(found, torch.tensor([row[2] for row in MIXED], dtype=torch.float32))
    assert result_targets(results, values, 0.0) is results
    # With any mix and no value the loss is that of the classes.
    heads, unsearched = _heads(1, len(MIXED)), torch.full_like(values, math.nan)
    targets = {"margins": torch.zeros(len(MIXED), dtype=torch.int64)}
    alone = losses_of_results(heads, targets | {"results": results})
    mixed = result_targets(results, unsearched, 0.6)
    assert torch.allclose(losses_of_results(heads, targets | {"results": mixed}), alone)


def losses_of_results(heads, targets):
    return value_losses(heads, targets)["result"]


def test_the_mix_decides_what_is_learned_of_a_position(tiny):
    samples = _samples(1)
    samples.results[:], samples.values[:] = WIN, -0.5
    for mix, expected in ((0.0, 1.0), (0.4, 0.7)):
        learner = Learner(tiny({"learning.value_mix": mix, "learning.learning_rate": 5e-3}))
        for _ in range(150):
            learner.step(samples, 0.0)
        chances = learner.network(_inputs(samples)).result.softmax(dim=1)
        assert chances[0, WIN].item() == pytest.approx(expected, abs=0.02)


def test_empty_houses_get_no_share_of_the_policy():
    samples, heads = _samples(8), _heads(1, 8)
    samples.inputs[:, 2] = 0
    shares = masked_policy(heads, _inputs(samples)).policy.softmax(dim=1)
    assert (shares[:, 2] == 0).all() and (shares[:, [0, 1, 3, 4, 5]] > 0).all()


def test_the_rate_rises_over_the_warm_up_and_falls_on_a_cosine(tiny):
    settings = {"learning_rate": 0.01, "final_rate": 0.1, "warmup_steps": 50}
    learner = Learner(tiny({f"learning.{name}": value for name, value in settings.items()}))
    rates = []
    for learner.steps in (0, 24, 49, 1000):
        rates.append(learner.rate(0.0))
    assert rates == pytest.approx([0.01 / 50, 0.01 / 2, 0.01, 0.01])
    for progress in (0.25, 0.5, 0.9):
        share = 0.1 + 0.9 * (1 + math.cos(math.pi * progress)) / 2
        assert learner.rate(progress) == pytest.approx(0.01 * share)
    assert learner.rate(1.0) == learner.rate(1.7) == pytest.approx(0.001)


def test_every_parameter_is_stepped_at_the_rate_of_its_moment(tiny):
    learner = Learner(tiny({"learning.warmup_steps": 10}))
    for step in range(3):
        expected = learner.rate(0.3)
        figures = learner.step(_samples(16), 0.3)
        assert learner.steps == step + 1
        assert [group["lr"] for group in learner.optimiser.param_groups] == [expected, expected]
        assert float(figures["learning_rate"]) == pytest.approx(expected)


def test_matrices_are_decayed_and_vectors_are_not(tiny):
    learner = Learner(tiny({"learning.weight_decay": 0.07}))
    decays = {}
    for group in learner.optimiser.param_groups:
        for parameter in group["params"]:
            decays[parameter] = group["weight_decay"]
    assert len(decays) == len(list(learner.network.parameters()))
    assert {decays[p] for p in learner.network.parameters() if p.ndim > 1} == {0.07}
    assert {decays[p] for p in learner.network.parameters() if p.ndim == 1} == {0.0}


def test_gradients_are_clipped_to_the_largest_norm(tiny):
    learner = Learner(tiny({"learning.gradient_clip": 0.01}))
    figures = learner.step(_samples(64), 0.0)
    norm = math.sqrt(sum(float(p.grad.square().sum()) for p in learner.network.parameters()))
    assert float(figures["gradient_norm"]) > 0.1
    assert norm == pytest.approx(0.01, rel=1e-3)


def test_the_average_follows_its_formula(tiny):
    learner = Learner(tiny({"learning.average": 0.5}))
    expected = {name: tensor.clone() for name, tensor in learner.average.items()}
    for step in range(1, 15):
        learner.step(_samples(32, step), 0.0)
        decay = min(0.5, (1 + step) / (10 + step))
        for name, tensor in learner.network.state_dict().items():
            expected[name] = decay * expected[name] + (1 - decay) * tensor
    assert (1 + 14) / (10 + 14) > 0.5 > (1 + 1) / (10 + 1), "both branches are taken"
    for name, tensor in learner.average.items():
        assert torch.allclose(tensor, expected[name], atol=1e-5), name


def test_a_learner_draws_other_samples_at_every_step_and_the_same_again(tiny, window):
    config = tiny()
    runs = []
    for _ in range(2):
        learner = Learner(config)
        learner.learn(window, 4, 0.0)
        runs.append(learner.playing_weights())
    other = Learner(tiny({"seed": 5}))
    other.network.load_state_dict(Learner(config).network.state_dict())
    other.learn(window, 4, 0.0)
    assert runs[0] == runs[1] != other.playing_weights()


def test_the_figures_of_several_steps_are_their_means(tiny, window):
    config = tiny()
    one, many = Learner(config), Learner(config)
    singles = [one.learn(window, 1, 0.2) for _ in range(3)]
    together = many.learn(window, 3, 0.2)
    assert many.steps == 3
    for name, value in together.items():
        assert value == pytest.approx(sum(s[name] for s in singles) / 3, rel=1e-5), name


def test_a_gradient_that_is_not_finite_stops_training_with_advice(tiny):
    learner = Learner(tiny())
    learner.step(_samples(16), 0.0)
    with torch.no_grad():
        learner.network.bias[3] = math.nan
    before = learner.playing_weights()
    with pytest.raises(OwareError, match=r"diverged at step 1.*lower learning\.learning_rate"):
        learner.step(_samples(16), 0.0)
    assert learner.steps == 1 and learner.playing_weights() == before


def test_training_goes_on_bit_for_bit_after_a_restore(tiny, window, tmp_path):
    config = tiny()
    straight = Learner(config)
    straight.learn(window, 5, 0.1)
    write_checkpoint(tmp_path / "step", straight.tensors(), {"steps": straight.steps})
    restored = Learner(config.model_copy(update={"seed": 99}))
    restored.config = config
    stems = ("model", "ema", "optimiser")
    restored.restore({stem: read_tensors(tmp_path / "step", stem) for stem in stems}, 5)
    for learner in (straight, restored):
        learner.learn(window, 5, 0.6)
    assert straight.steps == restored.steps == 10
    for stem in stems:
        assert _equal(straight.tensors()[stem], restored.tensors()[stem]), stem
    assert straight.playing_weights() == restored.playing_weights()
