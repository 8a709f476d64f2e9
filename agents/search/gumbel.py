"""Gumbel search: how it tries the moves of a root, and the policy that it finds.

Danihelka, Guez, Schrittwieser and Silver 2022, "Policy improvement by planning with Gumbel".
Every move gets a score once: Gumbel noise plus the logarithm of its prior, so that the best score
is a draw from the prior. Sequential halving (Karnin, Koren and Somekh 2013) then spends the
simulations: on all moves, on the better half, and so on, better by score and value together. The
improved policy is the prior corrected by the values found, those of untried moves completed; in
expectation it is no worse than the prior, however few the simulations, if the values are right.

Oware has at most six moves: all legal ones are considered. Below the root selection is PUCT; the
paper's deterministic selection there is an option that is not taken.
"""

from typing import NamedTuple

import numpy as np

from agents.policy import masked_softmax
from agents.search.proofs import DRAWN, OPEN
from oware_env.kernel import kernel
from oware_env.positions import DRAW_GUMBEL, count_moves, random_bits, to_unit

# How much values count against the prior: a difference of q in value moves the logits by
# (VISITS_AT_FIRST + visits of the most tried move) * VALUE_SCALE * q. On Go and chess the paper has
# 50 and 1, for values in [0, 1]: ours are in [-1, 1], twice as wide, so that would be 0.5. (The 0.1
# of its authors' library belongs to values stretched to [0, 1] at every root, which would teach
# differences between moves that are as good as equal.) With few simulations and a small network
# 0.5 is too sure of itself: against exact endgames with 16 simulations the policies' log loss is
# least at 0.1 to 0.2, for a trained network, one with blurred values and a random one alike.
VISITS_AT_FIRST = 50.0
VALUE_SCALE = 0.2

LEAST_PRIOR = np.float32(1e-37)  # of a legal move, so that it has a logarithm
NO_RANK = -(1 << 30)  # of a move that is not legal, or lost
LEAST_DRAW = 2.0**-53  # of an exponential number, so that it has one


class GumbelRoots(NamedTuple):
    """The roots of G trees. The first seven fields are views of the trees and change with them."""

    moves: np.ndarray  # int32[G], six bits: legal moves but for those proved to lose
    counts: np.ndarray  # int32[G], simulations so far, and 1
    visits: np.ndarray  # int32[G, 6]
    children: np.ndarray  # int32[G, 6], -1 for a move whose value is not known yet
    means: np.ndarray  # float32[G, 6], values of the others
    priors: np.ndarray  # float32[G, 6]
    proofs: np.ndarray  # int8[G, N], of all nodes; the root is the first
    values: np.ndarray  # float32[G], the evaluator's own of the root
    scores: np.ndarray  # float32[G, 6], noise plus logarithm of the prior
    schedules: np.ndarray  # int32[G, simulations], see visit_schedule


class Improved(NamedTuple):
    """What a Gumbel search of B positions makes of the evaluator's policy."""

    policies: np.ndarray  # float32[B, 6], the improved policy
    moves: np.ndarray  # int8[B], the move that sequential halving ends with


@kernel
def visit_schedule(moves, simulations, schedule):
    """How many visits the move of each simulation has by then, into int32[>= simulations].

    Each of the ceil(log2 moves) rounds has an equal share of the simulations; what rounding leaves
    over goes to the last two moves in turns, and a round that begins with too few simulations
    stops when they are used up.
    """
    rounds = 1
    while 1 << rounds < moves:
        rounds += 1
    left, visits, done = moves, 0, 0
    while done < simulations:
        for _ in range(max(1, simulations // (rounds * left))):
            for _ in range(min(left, simulations - done)):
                schedule[done] = visits
                done += 1
            visits += 1
        left = max(min(moves, 2), left // 2)


@kernel
def open_roots(roots, positions, noise, budgets):
    """Score the moves of every expanded root, drawing from (key, ply), and make its schedule.

    Gumbel noise is multiplied by ``noise`` float64[G]; ``budgets`` are simulations, int32[G].
    """
    for game in range(len(budgets)):
        key, ply = positions.keys[game], positions.plies[game]
        visit_schedule(count_moves(roots.moves[game]), budgets[game], roots.schedules[game])
        for move in range(6):
            unit = to_unit(random_bits(key, ply, DRAW_GUMBEL, move))
            draw = -np.log(max(-np.log(1.0 - unit), LEAST_DRAW))
            logit = np.log(max(roots.priors[game, move], LEAST_PRIOR))
            roots.scores[game, move] = noise[game] * draw + logit


@kernel
def _weigh(roots, game):
    """What a root's values are multiplied by in logits, and the value of moves that have none.

    That is the mixed value (appendix D of the paper): the evaluator's own of the root, averaged
    with the mean of the tried moves as the prior weighs them.
    """
    moves, most, total = roots.moves[game], 0, 0
    weighed, weight = np.float32(0.0), np.float32(0.0)
    for move in range(6):
        tried = roots.visits[game, move]
        if moves >> move & 1 and tried > 0:
            prior = max(roots.priors[game, move], LEAST_PRIOR)
            weighed += prior * roots.means[game, move]
            weight += prior
            total += tried
            most = max(most, tried)
    own = roots.values[game]
    mixed = (own + total * weighed / weight) / (total + 1) if total else own
    return np.float32((VISITS_AT_FIRST + most) * VALUE_SCALE), np.float32(mixed)


@kernel
def considered_move(roots, game):
    """The move of a root that the next simulation tries.

    Of the moves with as many visits as the schedule says it is the best. Moves that were proved
    to lose on the way leave gaps: then it is the best of those with the most visits below that,
    or else the fewest above. (Selections instead of branches, which nothing could foretell.)
    """
    scores, visits, children, means = roots.scores, roots.visits, roots.children, roots.means
    due = roots.schedules[game, roots.counts[game] - 1]
    moves = roots.moves[game]
    scale, mixed = _weigh(roots, game)
    best, best_rank, best_score = 0, NO_RANK, np.float32(0.0)
    for move in range(6):
        tried = np.int64(visits[game, move])
        rank = tried if tried <= due else -tried
        rank = rank if moves >> move & 1 else NO_RANK
        value = means[game, move] if children[game, move] >= 0 else mixed
        score = scores[game, move] + scale * value
        better = (rank > best_rank) | ((rank == best_rank) & (score > best_score))
        best = move if better else best
        best_rank = rank if better else best_rank
        best_score = score if better else best_score
    return best


@kernel
def _proved_alike(roots, game):
    """The moves that prove a root's result, six bits."""
    moves = 0
    for move in range(6):
        child = roots.children[game, move]
        if child >= 0 and roots.proofs[game, child] == 2 * DRAWN - roots.proofs[game, 0]:
            moves |= 1 << move
    return moves


@kernel
def _read_improved(roots, policies, chosen):
    """Fill the fields of Improved."""
    logits = np.empty(6, np.float32)
    for game in range(len(chosen)):
        is_proved = roots.proofs[game, 0] != OPEN
        moves = _proved_alike(roots, game) if is_proved else roots.moves[game]
        scale, mixed = _weigh(roots, game)
        scale = np.float32(0.0) if is_proved else scale
        best, most, best_score = -1, 0, np.float32(0.0)
        for move in range(6):
            value = roots.means[game, move] if roots.children[game, move] >= 0 else mixed
            correction = scale * value
            logits[move] = np.log(max(roots.priors[game, move], LEAST_PRIOR)) + correction
            if moves >> move & 1:
                tried = 0 if is_proved else roots.visits[game, move]
                score = roots.scores[game, move] + correction
                if best < 0 or tried > most or (tried == most and score > best_score):
                    best, most, best_score = move, tried, score
        chosen[game] = best
        masked_softmax(logits, moves, policies[game])


def read_improved(roots: GumbelRoots) -> Improved:
    """The improved policy of every root after its search, and the move of the halving.

    That is the best of the most visited. Of a proved root the policy is the prior over the moves
    that prove it, which are as good as one another, and the move is drawn from that.
    """
    games = len(roots.moves)
    found = Improved(np.empty((games, 6), np.float32), np.empty(games, np.int8))
    _read_improved(roots, *found)
    return found
