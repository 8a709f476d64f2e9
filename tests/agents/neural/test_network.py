"""The network: its sizes, its reproducible start, what its three heads say."""

import numpy as np
import pytest
import torch

from agents.neural.network import (
    MARGIN_CLASSES,
    PRESETS,
    TABLE_ROWS,
    build_network,
    count_features,
)
from oware_env.encoding import NETWORK_SIZE, network_input
from oware_env.errors import OwareError

FEATURES = 12 * 14 + 2 * 7 + 10 + 12 * 7 + 6 * 14  # of a count, see count_features
# preset: width, blocks, parameters
SIZES = {
    "tiny": (64, 2, 46_890),
    "small": (128, 2, 126_442),
    "medium": (128, 4, 192_746),
    "deep": (128, 8, 325_354),
    "large": (256, 6, 911_210),
}


@pytest.mark.parametrize("preset", PRESETS)
def test_a_preset_has_its_documented_size(preset):
    width, depth, parameters = SIZES[preset]
    network = build_network(preset)
    assert (network.width, network.depth, len(network.blocks)) == (width, depth, depth)
    assert sum(tensor.numel() for tensor in network.parameters()) == parameters
    block = 2 * width**2 + 3 * width
    heads = (6 + 3 + MARGIN_CLASSES) * (width + 1)
    assert parameters == (FEATURES + 1 + 2) * width + depth * block + heads


def test_there_are_no_others():
    assert set(PRESETS) == set(SIZES)


@pytest.mark.parametrize("preset", PRESETS)
def test_heads_have_their_documented_shapes(preset, positions):
    boards, plies, _ = positions(7)
    heads = build_network(preset)(torch.from_numpy(network_input(boards, plies, 400)))
    assert [tuple(head.shape) for head in heads] == [(7, 6), (7, 3), (7, MARGIN_CLASSES)]
    assert all(head.dtype == torch.float32 and torch.isfinite(head).all() for head in heads)


def test_equal_seeds_give_equal_weights_and_others_do_not():
    first, again, other = (build_network("tiny", seed).state_dict() for seed in (5, 5, 6))
    assert all(torch.equal(first[name], again[name]) for name in first)
    assert not torch.equal(first["first"], other["first"])


def test_the_global_random_state_is_neither_read_nor_disturbed():
    torch.manual_seed(1)
    expected = torch.rand(3)
    torch.manual_seed(1)
    first = build_network("tiny", 5).state_dict()
    assert torch.equal(torch.rand(3), expected)
    torch.manual_seed(2)
    again = build_network("tiny", 5).state_dict()
    assert all(torch.equal(first[name], again[name]) for name in first)


@pytest.mark.parametrize("preset", ["gigantic", "", "Tiny"])
def test_an_unknown_preset_is_refused_with_the_choices(preset):
    with pytest.raises(OwareError) as caught:
        build_network(preset)
    message = f"network must be one of tiny, small, medium, deep, large, not {preset!r}"
    assert str(caught.value) == message


def test_blocks_start_as_the_identity():
    network = build_network("small")
    features = torch.randn(4, 128, generator=torch.Generator().manual_seed(0))
    for block in network.blocks:
        assert torch.equal(block(features), features)


def test_every_entry_of_the_input_and_every_count_has_a_row_of_its_own():
    network = build_network("tiny")
    lowest = torch.zeros(1, NETWORK_SIZE, dtype=torch.uint8)
    highest = torch.tensor([[48] * 14 + [64] + [15] * 12 + [31] * 6], dtype=torch.uint8)
    rows = (lowest + network.offsets).flatten().tolist()
    ends = (highest + network.offsets).flatten().tolist()
    assert rows[0] == 0 and ends[-1] == TABLE_ROWS - 1
    assert network.table().shape == (TABLE_ROWS, 64)
    assert [end + 1 for end in ends[:-1]] == rows[1:]
    assert network(highest).policy.shape == (1, 6)


def test_counts_are_known_by_their_features():
    known = count_features()
    assert known.shape == (TABLE_ROWS, FEATURES)
    house = known[49 * 3 : 49 * 4, 14 * 3 : 14 * 4]  # the fourth house's own block
    assert house[5].nonzero().flatten().tolist() == [5]
    assert house[12].nonzero().flatten().tolist() == [12]
    assert house[18].nonzero().flatten().tolist() == [12, 13] and house[18, 13] == 0.5
    store = known[49 * 12 : 49 * 13, 168:175]
    assert store[24].tolist() == [2, 1, 1, 1, 1, 1, 1] and store[19].tolist()[1:] == [
        1,
        1,
        0,
        0,
        0,
        0,
    ]
    plies = known[49 * 14 : 49 * 14 + 65, 182:192]
    assert plies[64].tolist() == [0] * 10 and plies[0].tolist() == [1] * 10
    taken = known[751 + 11 * 16 : 751 + 12 * 16, 192 + 11 * 7 : 192 + 12 * 7]  # by the last reply
    assert taken[0].tolist() == [0] * 7 and taken[5].tolist() == [1.25, 1, 1, 1, 1, 0, 0]
    exchange = known[-32:, -14:]  # after the last move
    assert exchange[0].tolist() == [0] * 14 and exchange[31].tolist() == [3.75] + [1] * 13
    assert exchange[16].tolist() == [0] + [1] * 7 + [0] * 6
    assert exchange[13].tolist() == [-0.75] + [1] * 4 + [0] * 9
    # All zero are: two empty stores, 64 plies left, and 18 tactics that take nothing or are empty.
    assert len(known.unique(dim=0)) == TABLE_ROWS - 2 - 18


def test_the_input_is_a_sum_of_rows():
    network = build_network("tiny")
    inputs = torch.tensor([[4] * 12 + [0, 0, 64] + [0] * 6 + [3] * 6 + [16] * 6], dtype=torch.uint8)
    firsts = network.offsets.tolist()
    assert firsts[:16] == [49 * entry for entry in range(15)] + [49 * 14 + 65]
    rows = [first + count for first, count in zip(firsts, inputs[0].tolist(), strict=True)]
    summed = network.table()[rows].sum(dim=0) + network.bias
    expected = torch.relu(network.norm(summed))
    assert torch.allclose(network.features(inputs)[0], expected, atol=1e-5)


@pytest.mark.parametrize("preset", PRESETS)
def test_halved_products_change_little_and_their_weights_learn_in_full(preset):
    network, random = build_network(preset, 3), np.random.default_rng(0)
    inputs = torch.from_numpy(random.integers(1, 9, (64, NETWORK_SIZE)).astype(np.uint8))
    whole = network(inputs)
    network.products = torch.bfloat16
    halved = network(inputs)
    for full, half in zip(whole, halved, strict=True):
        assert half.dtype == torch.float32
        assert 0 < float((full - half).abs().max().detach()) < 0.02
    sum(head.square().sum() for head in halved).backward()
    assert all(weights.grad.dtype == torch.float32 for weights in network.parameters())
