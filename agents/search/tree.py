"""The lock-step search tree: many games' trees in one array, and the kernels that grow them.

One simulation of every game is: select down to a leaf (compiled), judge all unresolved leaves in
one batch (the evaluator), expand and back up (compiled). Every value at a node is seen by the
side to move there; the sign flips once a ply, in :func:`back_up` alone. Selection is PUCT
(Silver et al. 2018, supplement, "Search").

A node is 128 bytes, two cache lines, read as 32 int32, 32 float32 or 128 int8::

    ints     0-5 visits   6-11 children   25 count   26 status   27 ply
    floats  12-17 means  18-23 priors     24 total
    bytes   112-125 board          126 proof

Kernels index the arrays directly: a view of one node would cost more than reading it.
"""

from typing import NamedTuple

import numpy as np

from agents.policy import masked_softmax
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


class Leaves(NamedTuple):
    """The unresolved leaves of one round, packed: the first ``count`` rows are in use."""

    games: np.ndarray  # int32[G]
    boards: np.ndarray  # int8[G, 14]
    plies: np.ndarray  # int32[G]


def new_tree(games: int, nodes: int) -> Tree:
    """Room for the trees of ``games`` games of at most ``nodes`` nodes; :func:`plant` fills it."""
    ints = cache_lines(2 * games * nodes).reshape(games, nodes, NODE)
    return Tree(
        ints=ints,
        floats=ints.view(np.float32),
        bytes=ints.view(np.int8),
        sizes=np.zeros(games, np.int32),
        simulations=np.zeros(games, np.int32),
        paths=np.zeros((games, nodes), np.int32),
        path_lengths=np.zeros(games, np.int32),
    )


def new_leaves(games: int) -> Leaves:
    """Room for one leaf of each of ``games`` games."""
    return Leaves(
        np.zeros(games, np.int32), np.zeros((games, 14), np.int8), np.zeros(games, np.int32)
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


@kernel(inner=True)
def select(tree, games, simulations, exploration, endings, leaves):
    """Run every game on to its next unresolved leaf and pack those; returns how many.

    A leaf that is proved is backed up at once with its exact value, and the game goes on with its
    next simulation. Games that have finished ``simulations`` pack nothing, nor do those whose root
    is proved; only a search with a table lets proofs climb.
    """
    ints, floats, bytes_, sizes, paths = tree.ints, tree.floats, tree.bytes, tree.sizes, tree.paths
    max_plies, table = endings
    count = 0
    for game in range(games):
        done = tree.simulations[game]
        while done < simulations and bytes_[game, 0, PROOF] == OPEN:
            done += 1
            length = descend(ints, floats, bytes_, paths, game, exploration)
            node, move = paths[game, length - 1] >> 3, paths[game, length - 1] & 7
            leaf = ints[game, node, CHILDREN + move]
            is_new = leaf < 0
            if is_new:
                leaf = sizes[game]
                sizes[game] = leaf + 1
                add_child(ints, floats, bytes_, game, node, move, leaf, max_plies, table)
            proof = bytes_[game, leaf, PROOF]
            if proof != OPEN:
                back_up(ints, floats, paths, game, length, np.float32(proof - DRAWN))
                if is_new and table is not None:
                    prove(ints, floats, bytes_, paths, game, length)
                continue
            tree.path_lengths[game] = length
            leaves.games[count] = game
            leaves.plies[count] = ints[game, leaf, PLY]
            for entry in range(14):
                leaves.boards[count, entry] = bytes_[game, leaf, BOARD + entry]
            count += 1
            break
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
