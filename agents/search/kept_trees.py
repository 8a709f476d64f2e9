"""Trees kept from move to move, by the key of their game, for match play.

When a game comes again, its new position is looked for in the tree of the last time, and what lies
below it becomes the first part of the new tree. Self-play never does this: there a search depends
on its arguments alone.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from agents.search.proofs import OPEN, proof_of_moves
from agents.search.transpositions import earlier_node
from agents.search.tree import (
    BOARD,
    CHILDREN,
    COUNT,
    NODE,
    PLY,
    PROOF,
    STATUS,
    Tree,
    proofs_below,
)
from oware_env.kernel import kernel
from oware_env.positions import Positions

MOST_KEPT = 1 << 20  # nodes of all trees of a call together: 128 MB
PLIES = 2  # from one move of an agent to its next: its own and the opponent's


class Kept(NamedTuple):
    """The trees of K games of one call, one after another."""

    keys: np.ndarray  # uint64[K]
    starts: np.ndarray  # int64[K + 1], first node of each tree, and the end
    nodes: np.ndarray  # int32[M, 32]; children count from the start of their tree


@kernel
def _find(ints, bytes_, board, ply):
    """The node of a kept tree that holds a position, at most PLIES below its root, or -1.

    Of several the one seen most. One that was never gone beyond is no use and is not found.
    """
    depth = ply - ints[0, PLY]
    if depth < 0 or depth > PLIES:
        return -1
    level = np.zeros(6**PLIES, np.int64)
    count = 1
    for _ in range(depth):
        above, parents = level.copy(), count
        count = 0
        for number in range(parents):
            for move in range(6):
                child = ints[above[number], CHILDREN + move]
                if 0 <= child < len(ints):
                    level[count] = child
                    count += 1
    best, most = -1, 1
    for number in range(count):
        node = level[number]
        is_equal = ints[node, COUNT] > most
        for entry in range(14):
            is_equal &= bytes_[node, BOARD + entry] == board[entry]
        if is_equal:
            best, most = node, ints[node, COUNT]
    return best


@kernel
def _copy(ints, bytes_, found, tree, game, most):
    """Make the tree of a game from what a kept tree holds below node ``found``.

    Breadth first, up to ``most`` nodes: what is left out is the deepest, and only its nodes; the
    visits and means above them stay.
    """
    origins = np.empty(min(most, len(ints)), np.int64)  # the kept node that each new one was
    places = np.full(len(ints), -1, np.int64)  # the new node of each kept one
    origins[0], places[found] = found, 0
    size, node = 1, 0
    while node < size:
        for entry in range(NODE):
            tree.ints[game, node, entry] = ints[origins[node], entry]
        for move in range(6):
            child = tree.ints[game, node, CHILDREN + move]
            is_kept = 0 <= child < len(ints)
            if is_kept and places[child] < 0 and size < len(origins):
                origins[size], places[child] = child, size
                size += 1
            tree.ints[game, node, CHILDREN + move] = places[child] if is_kept else -1
        node += 1
    tree.sizes[game] = size
    if tree.noted.shape[1] > 0:
        for node in range(1, size):
            earlier_node(tree, game, node)


@kernel
def _prove_root(tree, game):
    """Let a root that was proved stay so only while the moves that prove it are in the tree."""
    if tree.bytes[game, 0, PROOF] == OPEN:
        return
    proofs = proofs_below(tree.ints, tree.bytes, game, 0)
    tree.bytes[game, 0, PROOF] = proof_of_moves(proofs, tree.ints[game, 0, STATUS])


@kernel
def graft(starts, ints, bytes_, rows, tree, boards, plies, most, is_known):
    """Put what kept tree ``rows[game]`` (-1: none) knows of each board into the game's tree.

    ``is_known`` bool[G] is set for games where that is something; those set already are skipped.
    """
    for game in range(len(rows)):
        if rows[game] < 0 or is_known[game]:
            continue
        start, stop = starts[rows[game]], starts[rows[game] + 1]
        part, bytes_part = ints[start:stop], bytes_[start:stop]
        found = _find(part, bytes_part, boards[game], plies[game])
        if found >= 0:
            _copy(part, bytes_part, found, tree, game, most)
            _prove_root(tree, game)
            is_known[game] = True


def pack_trees(tree: Tree, keys: np.ndarray, most: int) -> Kept:
    """Copy the trees of the first games, named by ``keys``, each up to its ``most`` oldest nodes.

    Children beyond those are noted as they were; they are taken for missing.
    """
    sizes = np.minimum(tree.sizes[: len(keys)], most).astype(np.int64)
    longest = int(sizes.max(initial=0))
    is_used = np.arange(longest) < sizes[:, None]
    nodes = tree.ints[: len(keys), :longest][is_used]
    return Kept(keys.copy(), np.concatenate([[0], sizes.cumsum()]), nodes)


class KeptTrees:
    """The trees of an agent's last two calls, by key.

    Two, because a match asks an agent for its games as South and for those as North in turns. A
    game that does not come again is forgotten with the third call.
    """

    def __init__(self) -> None:
        self._calls: list[Kept] = []  # newest first

    def graft(self, tree: Tree, positions: Positions, most: int) -> np.ndarray:
        """Give planted games what is known of their positions; which games that is, bool[G].

        A tree gets at most ``most`` nodes, so as many must have room.
        """
        boards, plies, keys = positions
        is_known = np.zeros(len(keys), np.bool_)
        for kept in self._calls:
            ints = kept.nodes
            rows = _rows_of(kept.keys, keys)
            graft(kept.starts, ints, ints.view(np.int8), rows, tree, boards, plies, most, is_known)
        return is_known

    def add_call(self, parts: Sequence[Kept]) -> None:
        """Keep the trees of a call, given in parts, and forget those before the last."""
        if not parts:
            return
        ends = np.cumsum([0, *(len(part.nodes) for part in parts)])
        starts = [part.starts[:-1] + end for part, end in zip(parts, ends[:-1], strict=True)]
        new = Kept(
            np.concatenate([part.keys for part in parts]),
            np.concatenate([*starts, ends[-1:]]),
            np.concatenate([part.nodes for part in parts]),
        )
        # An older call is of no more use once all its games have come again.
        older = [kept for kept in self._calls[:1] if not np.isin(kept.keys, new.keys).all()]
        self._calls = [new, *older]


def _rows_of(known: np.ndarray, keys: np.ndarray) -> np.ndarray:
    """The place of each key among the known ones, int64[G], -1 where it is not."""
    order = known.argsort()
    places = np.searchsorted(known, keys, sorter=order).clip(max=len(known) - 1)
    rows = order[places]
    return np.where(known[rows] == keys, rows, -1)
