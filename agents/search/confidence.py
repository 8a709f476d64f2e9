"""Lower confidence bounds of a root's moves: how good a move is at least, judging by its visits.

A move that was tried often is known well, one with few visits may owe its mean to luck. The bound
is mean - DEVIATIONS * standard error, as in KataGo and Leela Zero.
"""

import numpy as np

from agents.search.proofs import DRAWN, OPEN
from agents.search.tree import CHILDREN, MEANS, PLY, PROOF, TOTAL, VISITS
from oware_env.kernel import kernel
from oware_env.positions import DRAW_TIE, pick_move, random_bits

DEVIATIONS = 5.0  # standard errors below the mean; KataGo's constant
LEAST_SHARE = 0.15  # of the visits of the most visited move, to be chosen; KataGo's constant


@kernel
def _latest_first(plies, order):
    """Write the nodes with ``plies`` int32[N], none below the first, by descending ply."""
    depths = plies - plies[0]
    ends = np.zeros(depths.max() + 2, np.int64)  # of the nodes of each depth, the deepest first
    for depth in depths:
        ends[len(ends) - 1 - depth] += 1
    ends = np.cumsum(ends)
    for node in range(len(plies)):
        place = len(ends) - 2 - depths[node]
        order[ends[place]] = node
        ends[place] += 1


@kernel
def sum_squares(tree, game, squares):
    """Sum the squared values of all simulations through each move of a root: float64[6].

    Nodes have no room for it, and a search needs it of its root alone, at its end. The mean square
    of a node is made of its own value, which is what is left of its total without its moves', and
    of the mean square behind each move, as often as that was tried. A proved node has its exact
    value; a node that is no longer in a kept tree has the mean of its move. Nodes may have several
    parents, so those of later plies come first.
    """
    ints, floats, bytes_, size = tree.ints, tree.floats, tree.bytes, tree.sizes[game]
    order, mean_squares = np.empty(size, np.int64), np.empty(size, np.float64)
    _latest_first(ints[game, :size, PLY].copy(), order)
    for node in order:
        own, count = np.float64(floats[game, node, TOTAL]), 1
        for move in range(6):
            child, tried = ints[game, node, CHILDREN + move], ints[game, node, VISITS + move]
            mean = np.float64(floats[game, node, MEANS + move])
            own, count = own - tried * mean, count + tried
            squares[move] = tried * (mean_squares[child] if child >= 0 else mean * mean)
        own = min(1.0, max(-1.0, own))  # a proof changed a move's mean, but not the total
        mean_squares[node] = (own * own + squares.sum()) / count
        if bytes_[game, node, PROOF] != OPEN:
            exact = np.float64(bytes_[game, node, PROOF]) - DRAWN
            mean_squares[node] = exact * exact


@kernel
def lower_bounds(tree, visits):
    """The lower confidence bound of every root move with ``visits`` int32[G, 6]: float32[G, 6].

    Minus infinity without visits, the mean where a proof makes it exact. The variance of few
    simulations is no guide: as in KataGo, 1 / visits ** 3 is added, all of it after one visit.
    """
    bounds = np.empty(visits.shape, np.float32)
    squares = np.empty(6, np.float64)
    for game in range(len(visits)):
        sum_squares(tree, game, squares)
        for move in range(6):
            tried = tree.ints[game, 0, VISITS + move]
            child = tree.ints[game, 0, CHILDREN + move]
            mean = np.float64(tree.floats[game, 0, MEANS + move])
            if visits[game, move] == 0:
                bounds[game, move] = -np.inf
            elif child >= 0 and tree.bytes[game, child, PROOF] != OPEN:
                bounds[game, move] = mean
            elif tried == 0:
                bounds[game, move] = -DEVIATIONS
            else:
                variance = max(0.0, squares[move] / tried - mean * mean) + 1.0 / tried**3
                bounds[game, move] = mean - DEVIATIONS * np.sqrt(variance / tried)
    return bounds


@kernel
def highest_bounds(bounds, visits, keys, plies):
    """The move with the highest bound of every row, int8[G], ties at random from the key.

    Moves with less than LEAST_SHARE of the most visits are left out.
    """
    moves = np.empty(len(visits), np.int8)
    for row in range(len(visits)):
        least = LEAST_SHARE * visits[row].max()
        best, mask = np.float32(-np.inf), 0
        for move in range(6):
            if visits[row, move] > 0 and visits[row, move] >= least:
                if bounds[row, move] > best:
                    best, mask = bounds[row, move], 0
                if bounds[row, move] == best:
                    mask |= 1 << move
        moves[row] = pick_move(mask, random_bits(keys[row], plies[row], DRAW_TIE, 0))
    return moves
