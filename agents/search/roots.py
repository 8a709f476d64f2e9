"""What stands at the roots of the trees: noise put in for self-play, and what a search found."""

import numpy as np

from agents.search.proofs import DRAWN, OPEN
from agents.search.tree import (
    CHILDREN,
    COUNT,
    PLY,
    PRIORS,
    PROOF,
    STATUS,
    TOTAL,
    VISITS,
    Tree,
    add_child,
    best_move,
    prove,
)
from oware_env.kernel import kernel
from oware_env.positions import DRAW_NOISE, random_bits, to_unit


@kernel
def prove_roots(tree, games, endings):
    """Look up every move of every expanded root; those that the table decides enter the tree."""
    ints, floats, bytes_, sizes, paths = tree.ints, tree.floats, tree.bytes, tree.sizes, tree.paths
    max_plies, table = endings
    for game in range(games):
        moves = ints[game, 0, STATUS]
        for move in range(6):
            is_new = ints[game, 0, CHILDREN + move] < 0
            if moves >> move & 1 and is_new and bytes_[game, 0, PROOF] == OPEN:
                child = sizes[game]
                add_child(ints, floats, bytes_, game, 0, move, child, max_plies, table)
                if bytes_[game, child, PROOF] == OPEN:
                    ints[game, 0, CHILDREN + move] = -1  # enters when it is tried
                else:
                    sizes[game] = child + 1
                    paths[game, 0] = move
                    prove(ints, floats, bytes_, paths, game, 1)


@kernel
def add_root_noise(tree, keys, share):
    """Mix Dirichlet(1) noise into the root priors: (1 - share) * prior + share * noise.

    With concentration 1 the noise is uniform on the simplex: exponential draws, normalised.
    """
    draws = np.empty(6, np.float32)
    for game in range(len(keys)):
        legal, ply = tree.ints[game, 0, STATUS], tree.ints[game, 0, PLY]
        total = np.float32(0.0)
        for move in range(6):
            unit = to_unit(random_bits(keys[game], ply, DRAW_NOISE, move))
            draws[move] = -np.log(1.0 - unit) if legal >> move & 1 else 0.0
            total += draws[move]
        for move in range(6):
            prior = tree.floats[game, 0, PRIORS + move]
            noise = draws[move] / total if total > 0.0 else prior
            tree.floats[game, 0, PRIORS + move] = (1.0 - share) * prior + share * noise


@kernel
def read_roots(tree, simulations, exploration, visits, values):
    """Write the visit counts of each root's moves, int32[G, 6], and its value, float32[G].

    A proved root has all ``simulations`` at the first move that proves it, and its exact value.
    Visits of a move that is proved to lose do not count; should none be left, the one that would
    be tried next has one.
    """
    ints, floats, bytes_ = tree.ints, tree.floats, tree.bytes
    for game in range(len(values)):
        root = bytes_[game, 0, PROOF]
        values[game] = floats[game, 0, TOTAL] / np.float32(ints[game, 0, COUNT])
        total = 0
        for move in range(6):
            is_left = ints[game, 0, STATUS] >> move & 1
            visits[game, move] = ints[game, 0, VISITS + move] if is_left else 0
            total += visits[game, move]
        if root != OPEN:
            values[game] = root - DRAWN
            visits[game] = 0
            for move in range(5, -1, -1):
                child = ints[game, 0, CHILDREN + move]
                if child >= 0 and bytes_[game, child, PROOF] == 2 * DRAWN - root:
                    first = move
            visits[game, first] = simulations
        elif total == 0:
            visits[game, best_move(ints, floats, game, 0, exploration)] = 1


def root_priors(tree: Tree, games: int) -> np.ndarray:
    """Priors of the root's moves (noise included), float32[games, 6], a copy."""
    return tree.floats[:games, 0, PRIORS : PRIORS + 6].copy()


def is_settled(tree: Tree, games: int) -> bool:
    """Whether no search can change a move: every root is proved or has one move left."""
    moves, proofs = tree.ints[:games, 0, STATUS], tree.bytes[:games, 0, PROOF]
    return bool(((moves & (moves - 1) == 0) | (proofs != OPEN)).all())
