"""Transpositions: a position that several orders of moves lead to is one node of a search.

Played in another order, the same moves often make the same board. In a tree each order has a node
of its own, and finds out anew what the other knows. Here a new node is looked for among those of
its game. If one holds its position, the move leads to that from now on: its mean is backed up, and
later simulations go on below it (Childs, Brodeur and Kocsis 2008, "Transpositions and move groups
in Monte Carlo tree search"; Czech, Korus and Kersting 2021, "Improving AlphaZero using Monte-Carlo
graph search"). Positions are equal when board and ply are, so no way leads back to where it began.

The slots of a game are direct-mapped and never emptied: what stands in one is believed only if the
node that it names holds the position. A position that lost its slot to another gets a second node.
"""

import numpy as np

from agents.search.tree import BOARD, PLY
from oware_env.kernel import kernel
from oware_env.positions import mix
from oware_env.rules import pack

SLOTS_A_NODE = 4  # at least: with so many one position in nine loses its slot


def slots_for(nodes: int) -> int:
    """How many slots a tree of ``nodes`` nodes has, a power of two."""
    return 1 << (SLOTS_A_NODE * nodes - 1).bit_length()


@kernel(inner=True)
def earlier_node(tree, game, node):
    """The node that holds the position of ``node`` already, or -1; then ``node`` is noted."""
    ints, bytes_, noted = tree.ints, tree.bytes, tree.noted
    mover, opponent = pack(bytes_[game, node, BOARD : BOARD + 14])
    ply = np.uint64(ints[game, node, PLY]) << np.uint64(56)
    digest = mix(np.uint64(mover) ^ mix(np.uint64(opponent) ^ ply))
    slot = np.int64(digest) & (noted.shape[1] - 1)
    other = noted[game, slot]
    is_equal = other < tree.sizes[game] and ints[game, node, PLY] == ints[game, other, PLY]
    for entry in range(BOARD, BOARD + 14):
        is_equal = is_equal and bytes_[game, node, entry] == bytes_[game, other, entry]
    if is_equal:
        return np.int64(other)
    noted[game, slot] = node
    return np.int64(-1)
