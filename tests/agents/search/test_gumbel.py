"""Gumbel search: its schedule, its draws, the improved policy, and what is proved."""

import math

import numpy as np
import pytest

from agents.arena.oracle import truth, uniform_positions
from agents.search.gumbel import (
    VALUE_SCALE,
    VISITS_AT_FIRST,
    GumbelRoots,
    considered_move,
    visit_schedule,
)
from agents.search.mcts import Search
from agents.search.proofs import OPEN
from agents.search.rollout import RolloutEvaluator
from agents.search.tree import CHILDREN, MEANS, PROOF, STATUS
from oware_env.positions import (
    DRAW_GUMBEL,
    Positions,
    as_positions,
    game_keys,
    random_bits,
    to_unit,
)
from oware_env.rules import Rules, play, settle, status
from oware_env.state import State

SHORT = Rules(max_plies=60)


def row_wise(positions):
    """An evaluator that makes up logits and values from each board alone."""
    weights = np.random.default_rng(3).normal(size=(7, 14))
    numbers = np.sin((weights * positions.boards[:, None].astype(np.float64)).sum(axis=2))
    return (3 * numbers[:, :6]).astype(np.float32), numbers[:, 6].astype(np.float32)


def even(positions):
    """An evaluator that knows nothing."""
    count = len(positions.plies)
    return np.zeros((count, 6), np.float32), np.zeros(count, np.float32)


def starts(count, ply=0):
    boards = np.tile(State.initial().board, (count, 1))
    return as_positions(boards, np.full(count, ply), game_keys(np.uint64(0), np.arange(count)))


def same(left, right):
    return all(np.array_equal(a, b) for a, b in zip(left, right, strict=True))


def schedule(moves, simulations):
    found = np.full(simulations, -1, np.int32)
    visit_schedule(moves, simulations, found)
    return found.tolist()


def halved(moves, simulations):
    """Visits of every move by sequential halving with sets, when lower numbers are better."""
    visits, considered = [0] * moves, list(range(moves))
    rounds = max(1, math.ceil(math.log2(moves)))
    while sum(visits) < simulations:
        for _ in range(max(1, simulations // (rounds * len(considered)))):
            for move in considered[: simulations - sum(visits)]:
                visits[move] += 1
        considered = considered[: max(min(2, moves), len(considered) // 2)]
    return visits


@pytest.mark.parametrize("simulations", [*range(1, 40), 64, 199, 200, 800])
def test_the_schedule_is_sequential_halving_and_spends_all_simulations(simulations):
    for moves in range(1, 7):
        visits = [0] * moves
        for due in schedule(moves, simulations):
            visits[visits.index(due)] += 1  # the best of those with so many; there is always one
        assert visits == halved(moves, simulations)
        assert sum(visits) == simulations


def test_the_schedule_of_sixteen_simulations_by_hand():
    assert schedule(6, 16) == [0] * 6 + [1] * 3 + [2, 2, 3, 3, 4, 4, 5]
    assert schedule(4, 16) == [0] * 4 + [1] * 4 + [2, 2, 3, 3, 4, 4, 5, 5]
    assert schedule(2, 16) == [n // 2 for n in range(16)]
    assert schedule(1, 16) == list(range(16))


class Node:
    """A node of the plain search below."""

    def __init__(self, board, ply, max_plies):
        self.board, self.ply = board, ply
        self.code = status(board, ply, max_plies)
        self.children, self.values, self.priors = {}, {}, np.zeros(6)
        if self.code >= 64:
            self.seen = [float(np.sign(np.subtract(*settle(board, self.code >> 6))))]
            return
        logits, values = row_wise(as_positions(board[None], np.array([ply]), np.zeros(1)))
        self.moves = [move for move in range(6) if self.code >> move & 1]
        self.priors[self.moves] = np.exp(logits[0, self.moves].astype(float))
        self.priors /= self.priors.sum()
        self.seen = [float(values[0])]

    def visits(self, move):
        return len(self.values.get(move, []))

    def puct(self, move):
        tried = self.values.get(move, [])
        value = np.mean(tried if tried else self.seen)
        return value + 1.7 * math.sqrt(len(self.seen)) * self.priors[move] / (len(tried) + 1)

    def logits(self):
        """The improved logits of the legal moves, as the paper and its appendix D have them."""
        means = {move: np.mean(values) for move, values in self.values.items()}
        total = sum(map(self.visits, self.moves))
        known = sum(self.priors[move] for move in means)
        mean = sum(self.priors[move] * means[move] for move in means) / known if means else 0.0
        mixed = (self.seen[0] + total * mean) / (1 + total)
        scale = (VISITS_AT_FIRST + max(map(self.visits, self.moves))) * VALUE_SCALE
        return {m: math.log(self.priors[m]) + scale * means.get(m, mixed) for m in self.moves}


def simulate(node, max_plies, move=None):
    """One simulation below a node, by recursion; its value for the side to move there."""
    if node.code >= 64:
        return node.seen[0]
    move = max(node.moves, key=node.puct) if move is None else move
    if move in node.children:
        value = -simulate(node.children[move], max_plies)
    else:
        after = node.board.copy()
        play(after, move)
        child = node.children[move] = Node(after, node.ply + 1, max_plies)
        value = -child.seen[0]
    node.values.setdefault(move, []).append(value)
    node.seen.append(value)
    return value


def noise_of(positions, row):
    key, ply = positions.keys[row], positions.plies[row]
    bits = [np.uint64(random_bits(key, ply, DRAW_GUMBEL, move)) for move in range(6)]
    return [-math.log(-math.log(1 - to_unit(each))) for each in bits]


@pytest.mark.parametrize("simulations", [1, 3, 16, 50])
def test_equals_a_plain_search_of_one_game_at_a_time(positions, simulations):
    games = positions(30, seed=5, rules=SHORT)
    search = Search(row_wise, SHORT, simulations=simulations, exploration=1.7)
    result, improved = search.run_gumbel(games)
    for row in range(30):
        root = Node(games.boards[row].copy(), int(games.plies[row]), SHORT.max_plies)
        noise = noise_of(games, row)

        def best(visits, root=root, noise=noise):
            logits = root.logits()
            return max(
                (move for move in root.moves if root.visits(move) == visits),
                key=lambda move: noise[move] + logits[move],
            )

        for due in schedule(len(root.moves), simulations):
            simulate(root, SHORT.max_plies, best(due))
        assert result.visits[row].tolist() == [root.visits(move) for move in range(6)]
        assert result.values[row] == pytest.approx(np.mean(root.seen), abs=1e-5)
        assert improved.moves[row] == best(max(map(root.visits, root.moves)))
        weights = {move: math.exp(logit) for move, logit in root.logits().items()}
        policy = [weights.get(move, 0.0) / sum(weights.values()) for move in range(6)]
        assert improved.policies[row] == pytest.approx(policy, abs=1e-4)
    assert result.visits.sum() == 30 * simulations


def with_logits(*logits):
    def evaluator(positions):
        count = len(positions.plies)
        return np.tile(np.float32(logits), (count, 1)), np.zeros(count, np.float32)

    return evaluator


def test_the_first_move_tried_is_a_draw_from_the_prior():
    games = starts(6000)
    search = Search(with_logits(0, 1, 2, -1, 0.5, -2), simulations=1)
    result, improved = search.run_gumbel(games)
    expected = 6000 * result.priors[0].astype(float)
    counts = result.visits.sum(axis=0)
    distance = ((counts - expected) ** 2 / expected).sum()
    assert distance < 20.5  # chi-square, 5 degrees of freedom, one in a thousand
    assert (result.visits[np.arange(6000), improved.moves] == 1).all()


def test_draws_are_keyed_by_game_and_ply():
    search = Search(even, simulations=3)
    first = search.run_gumbel(starts(500))[1].moves
    assert np.array_equal(first, search.run_gumbel(starts(500))[1].moves)
    assert not np.array_equal(first, search.run_gumbel(starts(500, ply=1))[1].moves)
    assert len(set(first.tolist())) == 6


def test_fewer_simulations_than_moves_try_the_best_scores_once():
    games = starts(200)
    result, _ = Search(even, simulations=4).run_gumbel(games)
    for row in range(200):
        order = np.argsort(noise_of(games, row))
        assert np.flatnonzero(result.visits[row]).tolist() == sorted(order[2:])


def test_searches_of_their_own_length_and_noise_are_those_of_one_search_each(positions):
    games = positions(40, seed=6, rules=SHORT)
    lengths, noise = np.arange(40) % 12 + 1, np.arange(40) % 2
    together = Search(row_wise, SHORT, simulations=12).run_gumbel(games, noise, lengths)
    assert np.array_equal(together[0].visits.sum(axis=1), lengths)
    for row in range(40):
        one = Positions(*(array[row : row + 1] for array in games))
        search = Search(row_wise, SHORT, simulations=int(lengths[row]))
        for found, expected in zip(search.run_gumbel(one, noise[row]), together, strict=True):
            assert same(found, tuple(array[row : row + 1] for array in expected))


def test_without_noise_the_likeliest_moves_are_tried_first():
    search = Search(with_logits(0, 1, 2, -1, 0.5, -2), simulations=3)
    result, _ = search.run_gumbel(starts(20), noise=0.0)
    assert (result.visits == [0, 1, 1, 0, 1, 0]).all()


@pytest.mark.parametrize("evaluator", [row_wise, RolloutEvaluator(SHORT)], ids=["made", "rollout"])
def test_a_row_does_not_depend_on_the_other_rows(positions, evaluator):
    games = positions(40, seed=3, rules=SHORT)
    together = Search(evaluator, SHORT, simulations=30).run_gumbel(games)
    used = Search(evaluator, SHORT, simulations=30)
    for rows in (np.arange(40)[::-1], *np.arange(40).reshape(-1, 1)):
        apart = used.run_gumbel(Positions(*(np.ascontiguousarray(a[rows]) for a in games)))
        for found, expected in zip(apart, together, strict=True):
            assert same(found, tuple(array[rows] for array in expected))


@pytest.mark.parametrize("logits", [(np.inf, -np.inf, 3e38, -3e38, 0, 1), (-np.inf,) * 6])
def test_wild_logits_lead_to_a_policy_over_the_legal_moves(positions, logits):
    games = positions(50, seed=8, rules=SHORT)
    result, improved = Search(with_logits(*logits), SHORT, simulations=9).run_gumbel(games)
    codes = np.array([status(board, 0, 60) for board in games.boards])
    legal = (codes[:, None] >> np.arange(6) & 1).astype(bool)
    assert legal[np.arange(50), improved.moves].all()
    assert (improved.policies[~legal] == 0).all() and (improved.policies >= 0).all()
    assert improved.policies.sum(axis=1) == pytest.approx(np.ones(50), abs=1e-5)
    assert (result.visits.sum(axis=1) == 9).all()


@pytest.mark.parametrize(
    ("visits", "moves", "due", "chosen"),
    [
        ([2, 2, 1, 1, 0, 0], 0b111111, 2, 1),  # two of them: the better score
        ([2, 2, 1, 1, 0, 0], 0b111100, 2, 3),  # those with two are lost: the most below
        ([3, 0, 0, 3, 3, 0], 0b011001, 2, 4),  # all that are left have more
        ([3, 0, 0, 5, 5, 0], 0b011001, 2, 0),  # the fewest above
        ([9, 0, 0, 0, 0, 0], 0b000001, 2, 0),  # the only one
    ],
)
def test_a_move_that_is_lost_on_the_way_leaves_its_turns_to_others(visits, moves, due, chosen):
    roots = GumbelRoots(
        moves=np.array([moves], np.int32),
        counts=np.array([1], np.int32),
        visits=np.array([visits], np.int32),
        children=np.arange(1, 7, dtype=np.int32)[None],
        means=np.zeros((1, 6), np.float32),
        priors=np.full((1, 6), 1 / 6, np.float32),
        proofs=np.full((1, 7), OPEN, np.int8),
        values=np.zeros(1, np.float32),
        scores=np.arange(6, dtype=np.float32)[None],
        schedules=np.array([[due]], np.int32),
    )
    assert considered_move(roots, 0) == chosen


def test_moves_proved_to_lose_are_left_out_and_a_proved_root_ends_the_search(table):
    sample = uniform_positions(9, 500, seed=2)  # two seeds more than the table has
    search = Search(RolloutEvaluator(), simulations=24, table=table.arrays)
    result, improved = search.run_gumbel(sample)
    tree, rows = search._tree, np.arange(len(sample.plies))
    proofs = tree.bytes[: len(rows), 0, PROOF]
    left = (tree.ints[: len(rows), 0, STATUS][:, None] >> np.arange(6) & 1).astype(bool)
    is_open = proofs == OPEN
    codes = np.array([status(board, 0, 400) for board in sample.boards])
    lost = (codes[:, None] >> np.arange(6) & 1).astype(bool) & ~left & is_open[:, None]
    assert is_open.sum() > 50 and (~is_open).sum() > 50 and lost.any(axis=1).sum() > 20
    assert (improved.policies[lost] == 0).all()
    assert left[is_open, improved.moves[is_open]].all()
    assert (result.visits[lost] == 0).all()
    children = tree.ints[: len(rows), 0, CHILDREN : CHILDREN + 6]
    theirs = tree.bytes[rows[:, None], np.maximum(children, 0), PROOF]
    proving = (children >= 0) & (theirs == 4 - proofs[:, None]) & ~is_open[:, None]
    expected = np.where(proving, result.priors, 0)[~is_open]
    expected /= expected.sum(axis=1, keepdims=True)
    assert improved.policies[~is_open] == pytest.approx(expected, abs=1e-5)
    assert proving[~is_open, improved.moves[~is_open]].all()
    assert (result.values[~is_open] == proofs[~is_open] - 2).all()
    assert (tree.simulations[: len(rows)][is_open] == 24).all()
    assert improved.policies.sum(axis=1) == pytest.approx(np.ones(len(rows)), abs=1e-5)


def test_the_exact_value_of_a_move_counts_before_the_move_is_tried(table):
    sample = uniform_positions(8, 4000, seed=3)
    search = Search(row_wise, simulations=1, table=table.arrays)
    result, improved = search.run_gumbel(sample)
    ints, floats = search._tree.ints[:, 0], search._tree.floats[:, 0]
    is_open = search._tree.bytes[: len(ints), 0, PROOF] == OPEN
    is_left = (ints[:, STATUS][:, None] >> np.arange(6) & 1).astype(bool) & is_open[:, None]
    tried = is_left & (ints[:, :6] == 1)
    drawn = is_left & (ints[:, CHILDREN : CHILDREN + 6] >= 0) & ~tried
    rows = np.flatnonzero(drawn.any(axis=1) & tried.any(axis=1))
    assert len(rows) > 5
    scale = (VISITS_AT_FIRST + 1) * VALUE_SCALE
    for row in rows:
        one, other = drawn[row].argmax(), tried[row].argmax()
        before, after = result.priors[row].astype(float), improved.policies[row].astype(float)
        gain = np.log(after[one] / after[other]) - np.log(before[one] / before[other])
        assert gain == pytest.approx(-scale * floats[row, MEANS + other], abs=1e-3)


@pytest.mark.parametrize("simulations", [1, 16])
def test_within_the_table_no_move_is_worse_than_proved(table, simulations):
    sample = uniform_positions(7, 600, seed=2)
    found = truth(table, sample, 400)
    search = Search(row_wise, simulations=simulations, table=table.arrays)
    _, improved = search.run_gumbel(sample)
    assert found.keeps[np.arange(len(sample.plies)), improved.moves].all()
    assert (improved.policies[~found.keeps] == 0).all()


def test_the_policy_improves_on_the_prior_and_on_shares_of_visits(table):
    """Seven seeds, known exactly, searched without the table and judged by single random games."""
    sample = uniform_positions(7, 4000, seed=5)
    found = truth(table, sample, 400)
    rows = found.decisions
    asked, keeps = Positions(*(array[rows] for array in sample)), found.keeps[rows]
    search = Search(RolloutEvaluator(), simulations=16)
    plain = search.run(asked)
    result, improved = search.run_gumbel(asked)
    prior, shares, policies = (
        float((weights * keeps).sum(axis=1).mean())
        for weights in (result.priors, plain.visits / 16, improved.policies)
    )
    assert rows.sum() > 800
    assert policies > prior + 0.05
    assert policies > shares
    assert keeps[np.arange(len(keeps)), improved.moves].mean() > prior + 0.05
