"""One round of a search over many games: each runs on to its next leaf, and learns its worth.

One simulation of every game is: select down to a leaf (compiled), judge all unresolved leaves in
one batch (the evaluator), expand and back up (compiled).
"""

from typing import NamedTuple

import numpy as np

from agents.policy import masked_softmax
from agents.search.proofs import DRAWN, OPEN
from agents.search.transpositions import earlier_node
from agents.search.tree import (
    BOARD,
    CHILDREN,
    COUNT,
    PLY,
    PRIORS,
    PROOF,
    STATUS,
    TOTAL,
    add_child,
    back_up,
    descend,
    prove,
)
from oware_env.kernel import kernel


class Leaves(NamedTuple):
    """The unresolved leaves of one round, packed: the first ``count`` rows are in use."""

    games: np.ndarray  # int32[G]
    boards: np.ndarray  # int8[G, 14]
    plies: np.ndarray  # int32[G]


def new_leaves(games: int) -> Leaves:
    """Room for one leaf of each of ``games`` games."""
    return Leaves(
        np.zeros(games, np.int32), np.zeros((games, 14), np.int8), np.zeros(games, np.int32)
    )


@kernel(inner=True)
def _add(tree, game, node, move, endings):
    """Let ``move`` lead to the node of its position: (the node, whether it is an older one)."""
    ints, bytes_, new = tree.ints, tree.bytes, np.int64(tree.sizes[game])
    add_child(ints, tree.floats, bytes_, game, node, move, new, endings[0], endings[1])
    if tree.noted.shape[1] > 0:
        earlier = earlier_node(tree, game, new)
        if earlier >= 0:
            ints[game, node, CHILDREN + move] = earlier
            return earlier, True
    tree.sizes[game] = new + 1
    return new, False


@kernel(inner=True)
def _pack_leaf(tree, game, leaf, leaves, row):
    """Write a leaf that is to be judged into a row of the leaves."""
    leaves.games[row] = game
    leaves.plies[row] = tree.ints[game, leaf, PLY]
    for entry in range(14):
        leaves.boards[row, entry] = tree.bytes[game, leaf, BOARD + entry]


@kernel(inner=True)
def select(tree, games, simulations, exploration, endings, leaves):
    """Run every game on to its next unresolved leaf and pack those; returns how many.

    A leaf that is proved is backed up at once with its exact value, one that another order of moves
    led to before with its mean, and the game goes on with its next simulation. Games that have
    finished ``simulations`` pack nothing, nor do those whose root is proved; only a search with a
    table lets proofs climb.
    """
    ints, floats, bytes_, paths = tree.ints, tree.floats, tree.bytes, tree.paths
    table = endings[1]
    is_graph = tree.noted.shape[1] > 0
    count = 0
    for game in range(games):
        done = tree.simulations[game]
        while done < simulations and bytes_[game, 0, PROOF] == OPEN:
            done += 1
            length = descend(ints, floats, bytes_, paths, game, exploration)
            node, move = paths[game, length - 1] >> 3, paths[game, length - 1] & 7
            leaf = ints[game, node, CHILDREN + move]
            is_new, is_known = leaf < 0, False
            if is_new:
                leaf, is_known = _add(tree, game, node, move, endings)
            proof = bytes_[game, leaf, PROOF]
            if proof == OPEN and not is_known:
                tree.path_lengths[game] = length
                _pack_leaf(tree, game, leaf, leaves, count)
                count += 1
                break
            value = np.float32(proof - DRAWN)
            if proof == OPEN:
                value = floats[game, leaf, TOTAL] / np.float32(ints[game, leaf, COUNT])
            back_up(ints, floats, paths, game, length, value)
            # A node may have been proved below one parent while the others do not know it yet.
            if proof != OPEN and table is not None and (is_new or is_graph):
                prove(ints, floats, bytes_, paths, game, length)
        tree.simulations[game] = done
    return count


@kernel(inner=True)
def expand(tree, leaves, count, logits, values):
    """Give the packed leaves their priors and values and back them up; first NaN row, or -1.

    ``logits`` float32[count, 6], ``values`` float32[count], held to [-1, 1]. A leaf is always
    the newest node of its game.
    """
    ints, floats, paths = tree.ints, tree.floats, tree.paths
    for row in range(count):
        game = leaves.games[row]
        node = tree.sizes[game] - 1
        priors = floats[game, node, PRIORS : PRIORS + 6]
        if np.isnan(values[row]):
            return row
        if not masked_softmax(logits[row], ints[game, node, STATUS], priors):
            return row
        value = np.float32(min(np.float32(1.0), max(np.float32(-1.0), values[row])))
        floats[game, node, TOTAL] = value
        back_up(ints, floats, paths, game, tree.path_lengths[game], value)
    return -1
