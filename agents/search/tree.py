"""The lock-step search tree: many games' trees in one array, and the kernels that grow them.

How a round of simulations goes is in :mod:`agents.search.rounds`. Every value at a node is seen by
the side to move there; the sign flips once a ply, in :func:`back_up` alone. Selection is PUCT
(Silver et al. 2018, supplement, "Search"). Where transpositions are looked for
(:mod:`agents.search.transpositions`) a node may have several parents.

A node is 128 bytes, two cache lines, read as 32 int32, 32 float32 or 128 int8::

    ints     0-5 visits   6-11 children   25 count   26 status   27 ply
    floats  12-17 means  18-23 priors     24 total
    bytes   112-125 board          126 proof

Kernels index the arrays directly: a view of one node would cost more than reading it.
"""

from typing import NamedTuple

import numpy as np

from agents.search.cache_lines import cache_lines
from agents.search.exploration import bonus_scale
from agents.search.proofs import DRAWN, LOST, OPEN, proof_of, proof_of_moves
from oware_env.kernel import kernel
from oware_env.rules import play, status

VISITS = 0  # +move: simulations through the move
CHILDREN = 6  # +move: node after the move, -1 while it is not in the tree
MEANS = 12  # +move: mean value of those simulations, for the node's side to move
PRIORS = 18  # +move: the evaluator's policy, 0 for illegal moves
TOTAL = 24  # sum of the node's own value and of all values backed up through it
COUNT = 25  # how many values that is
STATUS = 26  # rules.status of the board
PLY = 27
BOARD = 112  # first byte of the board
PROOF = 126  # byte: OPEN, or what is certain for the side to move (proofs.py)
NODE = 32


class Tree(NamedTuple):
    """The trees of G games, up to N nodes each. Node 0 is the root."""

    ints: np.ndarray  # int32[G, N, 32]
    floats: np.ndarray  # float32[G, N, 32], the same memory
    bytes: np.ndarray  # int8[G, N, 128], the same memory
    sizes: np.ndarray  # int32[G], nodes in use
    simulations: np.ndarray  # int32[G], simulations finished or under way
    paths: np.ndarray  # int32[G, N], node * 8 + move of each step of the simulation under way
    path_lengths: np.ndarray  # int32[G]
    noted: np.ndarray  # int32[G, S], nodes by their position, for transpositions; 0 slots: none


def new_tree(games: int, nodes: int, slots: int = 0) -> Tree:
    """Room for the trees of ``games`` games of at most ``nodes`` nodes; :func:`plant` fills it.

    With ``slots``, a power of two, transpositions are looked for.
    """
    ints = cache_lines(2 * games * nodes).reshape(games, nodes, NODE)
    return Tree(
        ints=ints,
        floats=ints.view(np.float32),
        bytes=ints.view(np.int8),
        sizes=np.zeros(games, np.int32),
        simulations=np.zeros(games, np.int32),
        paths=np.zeros((games, nodes), np.int32),
        path_lengths=np.zeros(games, np.int32),
        noted=np.zeros((games, slots), np.int32),
    )


@kernel(inner=True)
def _open_node(ints, floats, bytes_, game, node, max_plies, table):
    """Finish a node whose board and ply were just written; a proved one gets its exact value."""
    board = bytes_[game, node, BOARD : BOARD + 14]
    ply = ints[game, node, PLY]
    code = status(board, ply, max_plies)
    proof = proof_of(board, code, max_plies - ply, table)
    ints[game, node, STATUS] = code
    ints[game, node, COUNT] = 1
    bytes_[game, node, PROOF] = proof
    for move in range(6):
        ints[game, node, VISITS + move] = 0
        ints[game, node, CHILDREN + move] = -1
        floats[game, node, MEANS + move] = 0.0
    if proof != OPEN:
        floats[game, node, TOTAL] = proof - DRAWN
    return code


@kernel
def plant(tree, boards, plies, endings, leaves):
    """Start a tree from each of B boards and pack the roots as leaves; first finished row or -1.

    A root is never proved by a table alone: what is wanted of it is a move. ``endings`` are the
    move limit and a table of endgames, or None, here and below.
    """
    max_plies, table = endings
    for game in range(len(boards)):
        tree.bytes[game, 0, BOARD : BOARD + 14] = boards[game]
        tree.ints[game, 0, PLY] = plies[game]
        tree.sizes[game] = 1
        tree.simulations[game] = 0
        tree.path_lengths[game] = 0
        if _open_node(tree.ints, tree.floats, tree.bytes, game, 0, max_plies, table) >= 64:
            return game
        tree.bytes[game, 0, PROOF] = OPEN
        leaves.games[game] = game
        leaves.boards[game] = boards[game]
        leaves.plies[game] = plies[game]
    return -1


@kernel(inner=True)
def best_move(ints, floats, game, node, exploration):
    """The legal move with the highest PUCT score at a node; the first of equals.

    A move not tried yet counts as the mean value of the node so far (its own judgement included),
    less ``exploration.reduction`` for as much of the policy as has been tried.
    """
    count = np.float32(ints[game, node, COUNT])
    scale = bonus_scale(exploration, count)
    untried = floats[game, node, TOTAL] / count
    if exploration.reduction > 0.0:
        tried_share = np.float32(0.0)
        for move in range(6):
            if ints[game, node, VISITS + move]:
                tried_share += floats[game, node, PRIORS + move]
        untried -= exploration.reduction * np.sqrt(tried_share)
    legal = ints[game, node, STATUS]
    best, best_score = 0, np.float32(-np.inf)
    for move in range(6):
        tried = ints[game, node, VISITS + move]
        value = floats[game, node, MEANS + move] if tried else untried
        score = value + scale * floats[game, node, PRIORS + move] / np.float32(tried + 1)
        score = score if legal >> move & 1 else np.float32(-np.inf)
        better = score > best_score
        best = move if better else best
        best_score = score if better else best_score
    return best


@kernel(inner=True)
def add_child(ints, floats, bytes_, game, node, move, child, max_plies, table):
    """Put the position after ``move`` into the tree as node ``child``."""
    ints[game, node, CHILDREN + move] = child
    for entry in range(PLY, NODE):  # the ply and the board
        ints[game, child, entry] = ints[game, node, entry]
    ints[game, child, PLY] += 1
    play(bytes_[game, child, BOARD : BOARD + 14], move)
    _open_node(ints, floats, bytes_, game, child, max_plies, table)


@kernel(inner=True)
def back_up(ints, floats, paths, game, length, value):
    """Add a leaf's value (for the side to move there) along the path, flipping it each ply."""
    for step in range(length - 1, -1, -1):
        value = -value
        node, move = paths[game, step] >> 3, paths[game, step] & 7
        tried = ints[game, node, VISITS + move] + 1
        ints[game, node, VISITS + move] = tried
        floats[game, node, MEANS + move] += (value - floats[game, node, MEANS + move]) / tried
        floats[game, node, TOTAL] += value
        ints[game, node, COUNT] += 1


@kernel(inner=True)
def proofs_below(ints, bytes_, game, node):
    """What is proved of a node's moves, for its own side to move: two bits a move."""
    proofs = 0
    for move in range(6):
        child = ints[game, node, CHILDREN + move]
        if child >= 0 and bytes_[game, child, PROOF] != OPEN:
            proofs |= (2 * DRAWN - np.int64(bytes_[game, child, PROOF])) << 2 * move
    return proofs


@kernel(inner=True)
def prove(ints, floats, bytes_, paths, game, length):
    """Let the proof of a path's last node climb as far as it settles the nodes above.

    A move that is proved to lose is taken out of its node's moves while another is left; a proved
    move's mean is its exact value.
    """
    for step in range(length - 1, -1, -1):
        node, move = paths[game, step] >> 3, paths[game, step] & 7
        proofs = proofs_below(ints, bytes_, game, node)
        proof = proofs >> 2 * move & 3
        floats[game, node, MEANS + move] = proof - DRAWN
        found = proof_of_moves(proofs, ints[game, node, STATUS])
        if found == OPEN:
            if proof == LOST:
                ints[game, node, STATUS] &= ~(1 << move)
            return
        bytes_[game, node, PROOF] = found


@kernel(inner=True)
def descend(ints, floats, bytes_, paths, game, exploration):
    """Walk from the root and note the path, until a step leaves the tree or meets a proved node.

    Returns its length; the last step's child is -1 when it is not in the tree yet.
    """
    node, length = 0, 0
    while True:
        move = best_move(ints, floats, game, node, exploration)
        paths[game, length] = node * 8 + move
        length += 1
        node = ints[game, node, CHILDREN + move]
        if node < 0 or bytes_[game, node, PROOF] != OPEN:
            return length
