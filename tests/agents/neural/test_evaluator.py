"""The folded evaluator says what the network says, on the CPU and on a GPU where there is one."""

import os
import subprocess
import sys

import numpy as np
import pytest
import torch
from torch.nn import functional

from agents.neural import bfloat16
from agents.neural.checkpoint import load_network
from agents.neural.evaluator import NetworkEvaluator, check_device
from agents.neural.folded import fold
from agents.neural.network import PRESETS, Network, build_network
from agents.roster import CHAMPION
from agents.search.mcts import Search
from oware_env.encoding import network_input
from oware_env.errors import OwareError
from oware_env.positions import Positions
from oware_env.rules import AWARI, Rules


def randomised(preset: str, seed: int = 0) -> Network:
    """A network whose every weight, norms and outer layers included, is drawn at random."""
    network = build_network(preset, seed)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, weights in network.named_parameters():
            scale = weights.shape[-1] ** -0.5 if weights.ndim == 2 else 0.5
            weights.copy_(torch.randn(weights.shape, generator=generator) * scale)
            if name.endswith("norm.weight"):
                weights.add_(1.0)
    return network


def own_answer(network: Network, positions: Positions, max_plies: int):
    """Policy logits and P(win) - P(loss) by the network's own forward."""
    inputs = network_input(positions.boards, positions.plies, max_plies)
    with torch.inference_mode():
        heads = network(torch.from_numpy(inputs))
    chances = heads.result.softmax(dim=1).numpy()
    return heads.policy.numpy(), chances[:, 0] - chances[:, 2]


def rounded_answer(network: Network, positions: Positions, max_plies: int):
    """The same by torch with every factor of the blocks' products rounded to bfloat16."""

    def product(left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
        return left.bfloat16().float() @ right.bfloat16().float()

    folded = fold(network, torch.device("cpu"))
    inputs = network_input(positions.boards, positions.plies, max_plies)
    rows = torch.from_numpy(inputs).to(torch.int64) + folded.offsets
    features = functional.embedding_bag(rows, folded.table, mode="sum") + folded.bias
    shape = features.shape[1:]
    for inner, bias, outer in zip(folded.inner, folded.inner_bias, folded.outer, strict=True):
        hidden = product(functional.layer_norm(features, shape), inner) + bias
        features = features + product(hidden.relu(), outer)
    features = functional.layer_norm(features, shape, folded.norm, folded.norm_bias).relu()
    outputs = (features @ folded.head + folded.head_bias).numpy()
    chances = torch.from_numpy(outputs[:, 6:]).softmax(dim=1).numpy()
    return outputs[:, :6], chances[:, 0] - chances[:, 2]


def apart(found: np.ndarray, expected: np.ndarray) -> float:
    """Root of the mean squared difference."""
    return float(np.sqrt(np.mean((found - expected) ** 2)))


@pytest.mark.parametrize("max_plies", [400, 60])
@pytest.mark.parametrize("preset", PRESETS)
def test_equals_the_networks_own_forward(preset, max_plies, positions):
    rules = Rules(max_plies=max_plies)
    asked = positions(200, seed=1, rules=rules)
    network = randomised(preset)
    logits, values = NetworkEvaluator(network, rules)(asked)
    assert (logits.dtype, values.dtype) == (np.float32, np.float32)
    if bfloat16.AVAILABLE:
        # A number that lies between two bfloat16 may be rounded the other way by torch: a few rows
        # differ, but far less than they would with the factors left as they are (2e-3 and 8e-4).
        expected_logits, expected_values = rounded_answer(network, asked, max_plies)
        assert apart(logits, expected_logits) < 6e-4 and apart(values, expected_values) < 3e-4
    else:
        expected_logits, expected_values = own_answer(network, asked, max_plies)
        assert logits == pytest.approx(expected_logits, abs=1e-4)
        assert values == pytest.approx(expected_values, abs=1e-5)
    assert np.ptp(values) > 0.1 and np.ptp(logits, axis=0).min() > 0.1  # it is not all the same


def test_the_champion_is_itself_in_any_precision(positions):
    asked = positions(2000, seed=2)
    network = load_network(CHAMPION)
    logits, values = NetworkEvaluator(network)(asked)
    expected_logits, expected_values = own_answer(network, asked, 400)
    full = asked.boards[:, :6] > 0
    assert apart(values, expected_values) < 0.004
    assert apart(logits[full], expected_logits[full]) < 0.03
    best, expected = (
        np.where(full, each, -np.inf).argmax(axis=1) for each in (logits, expected_logits)
    )
    assert np.mean(best == expected) > 0.99


IN_ANOTHER_PROCESS = """
import sys
import numpy as np
from agents.neural import bfloat16
from agents.neural.checkpoint import load_network
from agents.neural.evaluator import NetworkEvaluator, check_device
from agents.neural.forward import judge_inputs
from agents.roster import CHAMPION
assert not bfloat16.AVAILABLE
answer = judge_inputs(NetworkEvaluator(load_network(CHAMPION)).arrays, np.load(sys.argv[1]))
np.savez(sys.argv[2], *answer)
"""


def test_a_processor_without_bfloat16_computes_in_float32(positions, tmp_path):
    asked, files = positions(100), (tmp_path / "inputs.npy", tmp_path / "answer.npz")
    np.save(files[0], network_input(*asked[:2], 400))
    # What kernels are compiled for is settled when they are imported.
    environment = os.environ | {"NUMBA_CPU_NAME": "generic"}
    command = [sys.executable, "-c", IN_ANOTHER_PROCESS, *map(str, files)]
    subprocess.run(command, env=environment, check=True)
    logits, values = np.load(files[1]).values()
    expected_logits, expected_values = own_answer(load_network(CHAMPION), asked, 400)
    assert logits == pytest.approx(expected_logits, abs=1e-4)
    assert values == pytest.approx(expected_values, abs=1e-5)


def test_the_plies_left_reach_the_network(positions):
    rules = Rules(max_plies=60)
    asked = positions(20, rules=rules)
    evaluator = NetworkEvaluator(randomised("tiny"), rules)
    early = asked._replace(plies=np.full(20, 3, np.int32))
    late = asked._replace(plies=np.full(20, 59, np.int32))
    assert not np.allclose(evaluator(early)[0], evaluator(late)[0], atol=1e-3)


def test_later_training_of_the_network_does_not_reach_it(positions):
    asked = positions(50)
    network = randomised("tiny")
    evaluator = NetworkEvaluator(network)
    before = evaluator(asked)
    with torch.no_grad():
        for weights in network.parameters():
            weights.add_(0.5)
    after = evaluator(asked)
    assert all(np.array_equal(a, b) for a, b in zip(before, after, strict=True))
    changed = NetworkEvaluator(network)(asked)
    assert not np.allclose(before[0], changed[0], atol=1e-2)


def test_softened_divides_the_logits_and_nothing_else(positions):
    asked, evaluator = positions(50), NetworkEvaluator(randomised("small"))
    before = [part.copy() for part in evaluator(asked)]
    logits, values = evaluator.softened(2.0)(asked)
    assert logits == pytest.approx(before[0] / 2, abs=1e-5)
    assert np.array_equal(values, before[1])
    assert all(np.array_equal(a, b) for a, b in zip(before, evaluator(asked), strict=True))


def test_it_leaves_the_network_as_it_was_and_trainable(positions):
    network = randomised("tiny")
    weights = {name: tensor.clone() for name, tensor in network.state_dict().items()}
    NetworkEvaluator(network)(positions(5))
    assert all(torch.equal(weights[name], now) for name, now in network.state_dict().items())
    inputs = torch.from_numpy(network_input(*positions(5)[:2], 400))
    network(inputs).policy.sum().backward()
    assert all(w.grad is not None for w in network.policy.parameters())


def test_a_batch_of_one_gives_one_row(positions):
    evaluator = NetworkEvaluator(randomised("small"))
    asked = positions(10)
    logits, values = evaluator(asked)
    for row in range(10):
        one = Positions(*(array[row : row + 1] for array in asked))
        alone = evaluator(one)
        assert alone[0].shape == (1, 6) and alone[1].shape == (1,)
        assert alone[0][0] == pytest.approx(logits[row], abs=1e-5)
        assert alone[1][0] == pytest.approx(values[row], abs=1e-5)


def test_equal_batches_give_equal_bytes(positions):
    asked = positions(64)
    first, second = (NetworkEvaluator(randomised("medium"))(asked) for _ in range(2))
    assert all(a.tobytes() == b.tobytes() for a, b in zip(first, second, strict=True))


def test_it_guides_a_search_and_a_nan_weight_is_noticed(positions):
    asked = positions(16)
    network = randomised("tiny")
    result = Search(NetworkEvaluator(network), simulations=20).run(asked)
    assert (result.visits.sum(axis=1) == 20).all()
    with torch.no_grad():
        network.norm.weight[0] = torch.nan
    with pytest.raises(ValueError, match="the evaluator returned NaN for board"):
        Search(NetworkEvaluator(network), simulations=20).run(asked)


def test_other_rules_are_refused():
    with pytest.raises(OwareError, match="abapa, not awari"):
        NetworkEvaluator(build_network("tiny"), AWARI)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("preset", PRESETS)
def test_a_gpu_says_what_the_cpu_says(preset, positions):
    asked = positions(200)
    network = randomised(preset)
    logits, values = NetworkEvaluator(network, device="cuda")(asked)
    expected_logits, expected_values = own_answer(network, asked, 400)
    assert logits == pytest.approx(expected_logits, abs=1e-3)
    assert values == pytest.approx(expected_values, abs=1e-3)


@pytest.mark.parametrize(
    "device",
    [
        *("meta", "meta:0", "cuda:99", "mkldnn", "lazy", "cuda:-1", "cpu:" + "9" * 30, "", " cpu"),
        *("x" * 100_000, "a\nb", "\x1b[31m", "\0", "日本", None, 3, True, [], torch.device("meta")),
    ],
    ids=lambda device: repr(device)[:12],
)
def test_a_device_that_cannot_compute_is_refused_in_one_line(device):
    for action in (
        check_device,
        lambda device: NetworkEvaluator(build_network("tiny"), device=device),
    ):
        with pytest.raises(OwareError) as caught:
            action(device)
        message = str(caught.value)
        assert "device" in message and message.isprintable() and len(message) < 300


def test_the_devices_that_compute_are_taken():
    check_device("cpu")
    check_device("cpu:0")
