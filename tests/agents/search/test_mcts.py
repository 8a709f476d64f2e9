"""The search: its visit counts, forced wins, bad evaluators, independence of rows, the agent."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.arena.oracle import uniform_positions
from agents.policy import draw_moves
from agents.search import transpositions
from agents.search.exploration import GROWS_FROM, Exploration
from agents.search.match_play import Mcts
from agents.search.mcts import Search
from agents.search.rollout import RolloutEvaluator
from oware_env.errors import OwareError
from oware_env.kernel import kernel
from oware_env.positions import Positions, as_positions, game_keys
from oware_env.rules import AWARI, Rules, play, settle, status
from oware_env.state import State

SHORT = Rules(max_plies=60)


def keys(count, seed=0):
    return game_keys(np.uint64(seed), np.arange(count))


def of_boards(boards, plies=0):
    count = len(boards)
    return as_positions(np.array(boards), np.full(count, plies), keys(count))


def of_texts(*texts, ply=0):
    return of_boards([State.parse(text).board for text in texts], ply)


def take(positions, rows):
    return Positions(*(np.ascontiguousarray(array[rows]) for array in positions))


def nothing_known(positions):
    """An evaluator without knowledge: equal moves, a draw."""
    count = len(positions.plies)
    return np.zeros((count, 6), np.float32), np.zeros(count, np.float32)


def row_wise(positions):
    """An evaluator that makes up logits and values from each board alone."""
    weights = np.random.default_rng(3).normal(size=(7, 14))
    numbers = np.sin((weights * positions.boards[:, None].astype(np.float64)).sum(axis=2))
    return (3 * numbers[:, :6]).astype(np.float32), numbers[:, 6].astype(np.float32)


def legal_masks(positions, rules):
    pairs = zip(positions.boards, positions.plies, strict=True)
    codes = np.array([status(board, ply, rules.max_plies) for board, ply in pairs])
    assert (codes < 64).all()
    return (codes[:, None] >> np.arange(6) & 1).astype(bool)


def same(left, right):
    return all(np.array_equal(a, b) for a, b in zip(left, right, strict=True))


@pytest.mark.parametrize("rules", [Rules(), SHORT])
@pytest.mark.parametrize("evaluator", [nothing_known, row_wise, None], ids=["zero", "made", "roll"])
@pytest.mark.parametrize("simulations", [1, 7, 64])
def test_visit_counts_sum_to_the_simulations(positions, simulations, evaluator, rules):
    games = positions(50, seed=simulations, rules=rules)
    search = Search(evaluator or RolloutEvaluator(rules), rules, simulations=simulations)
    for size in (50, 1, 13):  # the trees' memory is kept and used for smaller batches
        result = search.run(take(games, slice(0, size)))
        legal = legal_masks(take(games, slice(0, size)), rules)
        assert (result.visits.sum(axis=1) == simulations).all()
        assert (result.visits[~legal] == 0).all()
        assert (result.priors[~legal] == 0).all()
        assert result.priors.sum(axis=1) == pytest.approx(np.ones(size), abs=1e-5)
        assert (np.abs(result.values) <= 1).all()


class Node:
    """A node of the plain search below, as a textbook has it."""

    def __init__(self, board, ply, max_plies):
        self.board, self.ply = board, ply
        self.code = status(board, ply, max_plies)
        self.children, self.values, self.priors = {}, {}, np.zeros(6)
        self.seen = []

    def best(self, exploration):
        seen = len(self.seen)
        known = sum(self.priors[move] for move in self.values)
        untried = sum(self.seen) / seen - exploration.reduction * math.sqrt(known)
        scale = exploration.constant * (1 + exploration.growth * math.log(1 + seen / GROWS_FROM))
        scores = {}
        for move in range(6):
            if self.code >> move & 1:
                tried = self.values.get(move, [])
                value = sum(tried) / len(tried) if tried else untried
                bonus = scale * math.sqrt(seen) * self.priors[move]
                scores[move] = value + bonus / (len(tried) + 1)
        return max(scores, key=scores.get)


def judge(node):
    """The value of a new node, which gets its priors."""
    if node.code >= 64:
        return float(np.sign(np.subtract(*settle(node.board, node.code >> 6))))
    logits, values = row_wise(of_boards([node.board], node.ply))
    weights = np.exp(logits[0].astype(float)) * [node.code >> move & 1 for move in range(6)]
    node.priors = weights / weights.sum()
    return float(values[0])


def simulate(node, exploration, max_plies, known):
    """One simulation below a node, by recursion; its value for the side to move there.

    ``known``: nodes by position where one may have several parents, else None.
    """
    if node.code >= 64:
        return node.seen[0]
    move = node.best(exploration)
    if move in node.children:
        value = -simulate(node.children[move], exploration, max_plies, known)
    else:
        after = node.board.copy()
        play(after, move)
        child = Node(after, node.ply + 1, max_plies)
        if known is not None:
            child = known.setdefault((child.ply, after.tobytes()), child)
        node.children[move] = child
        if not child.seen:
            child.seen.append(judge(child))
        value = -sum(child.seen) / len(child.seen)
    node.values.setdefault(move, []).append(value)
    node.seen.append(value)
    return value


def check_against_a_plain_search(games, exploration, result, simulations):
    known = {} if exploration.transpositions else None
    for row in range(len(games.plies)):
        root = Node(games.boards[row].copy(), int(games.plies[row]), SHORT.max_plies)
        root.seen.append(judge(root))
        for _ in range(simulations):
            simulate(root, exploration, SHORT.max_plies, known)
        visits = [len(root.values.get(move, [])) for move in range(6)]
        assert result.visits[row].tolist() == visits
        assert result.values[row] == pytest.approx(sum(root.seen) / (simulations + 1), abs=1e-5)
        if known is not None:
            known.clear()


@pytest.mark.parametrize(
    "exploration",
    [Exploration(1.7), Exploration(0.6, growth=0.8), Exploration(0.6, growth=3.0, reduction=0.3)],
)
def test_equals_a_plain_search_of_one_game_at_a_time(positions, exploration):
    games = positions(30, seed=5, rules=SHORT)
    result = Search(row_wise, SHORT, simulations=60, exploration=exploration).run(games)
    check_against_a_plain_search(games, exploration, result, 60)


def test_with_transpositions_it_equals_a_plain_search_that_has_them(monkeypatch):
    monkeypatch.setattr(transpositions, "SLOTS_A_NODE", 1 << 12)  # no position loses its own
    games = uniform_positions(12, 30, seed=5, rules=SHORT)
    graph, tree = Exploration(3.0, transpositions=True), Exploration(3.0)
    result = Search(row_wise, SHORT, simulations=150, exploration=graph).run(games)
    check_against_a_plain_search(games, graph, result, 150)
    in_trees = Search(row_wise, SHORT, simulations=150, exploration=tree).run(games)
    assert (in_trees.values != result.values).sum() > 10  # so there was something to find


@kernel
def forced_result(board, ply, depth, max_plies):
    """What the side to move can force within ``depth`` plies: 1 win, -1 loss, 0 neither.

    In one function: Numba loads two that call each other wrongly from its cache.
    """
    moves = status(board, ply, max_plies)
    if moves >= 64:
        mover, opponent = settle(board, moves >> 6)
        return np.sign(mover - opponent)
    if depth == 0:
        return 0
    best = -1
    for move in range(6):
        if moves >> move & 1:
            after = board.copy()
            play(after, move)
            best = max(best, -forced_result(after, ply + 1, depth - 1, max_plies))
    return best


def endgames(count, seed):
    """Random positions of few seeds with both sides close to a majority, at plies near 0."""
    random = np.random.default_rng(seed)
    boards = np.zeros((count, 14), np.int8)
    boards[:, 12:] = random.integers(17, 25, (count, 2))
    for board in boards:
        np.add.at(board, random.integers(0, 12, 48 - board[12:].sum()), 1)
    return [board for board in boards if status(board, 0, 400) < 64]


def winning_moves(board, depth):
    """The moves that force a win within ``depth`` plies, themselves included."""
    wins = set()
    for move in range(6):
        if status(board, 0, 400) >> move & 1:
            after = board.copy()
            play(after, move)
            if forced_result(after, 1, depth - 1, 400) < 0:
                wins.add(move)
    return wins


def won_within(depth):
    """{board: winning moves} where ``depth`` plies and no fewer win, and only by some moves."""
    found = {}
    for board in endgames(8000, seed=1):
        wins = winning_moves(board, depth)
        if wins and not (depth > 1 and winning_moves(board, depth - 2)):
            legal = bin(status(board, 0, 400)).count("1")
            if len(wins) < legal and wins == winning_moves(board, 7):
                found[tuple(board.tolist())] = wins
    return found


@pytest.mark.parametrize("evaluator", [nothing_known, RolloutEvaluator()], ids=["zero", "rollout"])
@pytest.mark.parametrize(("depth", "least"), [(1, 150), (3, 40)])
def test_forced_wins_are_found(depth, least, evaluator):
    answers = won_within(depth)
    assert len(answers) >= least
    search = Search(evaluator, simulations=600)
    decisions = Mcts(search, "mcts").decide(of_boards(list(answers)))
    for (board, wins), move in zip(answers.items(), decisions.moves, strict=True):
        assert move in wins, board


class Noted:
    """An evaluator that passes questions on and keeps them."""

    def __init__(self, evaluator):
        self.evaluator, self.asked = evaluator, []

    def __call__(self, positions):
        self.asked.append(Positions(*(array.copy() for array in positions)))
        return self.evaluator(positions)


def test_only_running_positions_reach_the_evaluator_packed(positions):
    games = positions(40, seed=2, rules=SHORT)
    evaluator = Noted(row_wise)
    Search(evaluator, SHORT, simulations=100).run(games)
    assert same(evaluator.asked[0], games)  # the roots
    sizes = [len(asked.plies) for asked in evaluator.asked]
    assert sizes == sorted(sizes, reverse=True) and len(set(sizes)) > 2
    row_of = {key: row for row, key in enumerate(games.keys.tolist())}
    for asked in evaluator.asked[1:]:
        legal_masks(asked, SHORT)  # all of them run
        rows = [row_of[key] for key in asked.keys.tolist()]
        assert len(set(rows)) == len(rows)
        assert (asked.plies > games.plies[rows]).all()


def test_a_game_whose_moves_all_end_it_asks_for_its_root_only():
    last_ply = of_texts("2-1-0-3-0-1-0-4-1-0-2-0-18-16-S", ply=399)
    evaluator = Noted(nothing_known)
    search = Search(evaluator, simulations=30)
    result = search.run(last_ply)
    assert len(evaluator.asked) == 1
    # Whoever owns the seeds at the limit: worked out by the rules, -1, 0 or 1 and nothing else.
    for move in (0, 1, 3, 5):
        after = last_ply.boards[0].copy()
        play(after, move)
        mover, opponent = settle(after, status(after, 400, 400) >> 6)
        assert search._tree.floats[0, 0, 12 + move] == np.sign(opponent - mover)
    assert result.visits.sum() == 30


def test_beside_it_other_games_are_asked_for_alone():
    games = Positions(
        np.concatenate([of_texts("2-1-0-3-0-1-0-4-1-0-2-0-18-16-S").boards] * 2),
        np.array([399, 0], np.int32),
        keys(2),
    )
    evaluator = Noted(row_wise)
    Search(evaluator, simulations=8).run(games)
    assert [asked.keys.tolist() for asked in evaluator.asked[1:]] == [[games.keys[1]]] * 8


@pytest.mark.parametrize("ply", [0, 400])
def test_a_finished_root_raises_and_names_its_row(ply):
    texts = ["4-4-4-4-4-4-4-4-4-4-4-4-0-0-S", "0-0-0-0-1-1-1-0-0-0-0-1-23-21-S"]
    boards = [State.parse(text).board for text in texts]
    if ply == 0:
        boards[1] = State.parse(texts[1]).play("F").board  # 25 seeds
    games = as_positions(np.array(boards), np.array([0, ply]), keys(2))
    with pytest.raises(ValueError, match="row 1: the game is over"):
        Search(nothing_known, simulations=4).run(games)


ANYTHING = st.one_of(
    st.sampled_from([np.nan, np.inf, -np.inf, 3e38, -3e38, 1e-45, 0.0, 1.0, -1.0]),
    st.floats(width=32),
)


class Wild:
    """An evaluator that answers with whatever it was given, and notes the first NaN."""

    def __init__(self, numbers):
        self.table = np.array(numbers, np.float32).reshape(-1, 7)
        self.first = None

    def __call__(self, positions):
        rows = positions.boards.astype(np.int64) @ np.arange(1, 15) ** 2 % len(self.table)
        answers = self.table[rows]
        bad = np.isnan(answers).any(axis=1)
        if self.first is None and bad.any():
            self.first = positions.boards[bad.argmax()].tolist()
        return np.ascontiguousarray(answers[:, :6]), answers[:, 6].copy()


@given(st.lists(st.lists(ANYTHING, min_size=7, max_size=7), min_size=1, max_size=12))
def test_no_answer_of_an_evaluator_leads_to_an_illegal_move(positions, rows):
    games = positions(12, seed=8, rules=SHORT)
    evaluator = Wild(rows)
    mcts = Mcts(Search(evaluator, SHORT, simulations=12), "wild")
    try:
        decisions = mcts.decide(games)
    except ValueError as error:
        assert evaluator.first is not None
        assert f"NaN for board {evaluator.first} at ply" in str(error)
        return
    assert evaluator.first is None
    legal = legal_masks(games, SHORT)
    assert legal[np.arange(12), decisions.moves].all()
    assert (decisions.policy[~legal] == 0).all()
    assert decisions.policy.sum(axis=1) == pytest.approx(np.ones(12), abs=1e-5)
    assert (np.abs(decisions.value) <= 1).all()


@pytest.mark.parametrize("place", range(7))
def test_a_nan_in_any_place_raises_even_for_an_illegal_move(place):
    answer = np.zeros((1, 7), np.float32)
    answer[0, place] = np.nan
    games = of_texts("0-0-0-0-1-1-1-0-0-0-0-1-23-21-S", ply=7)
    with pytest.raises(ValueError, match=r"NaN for board \[0, 0, 0, 0, 1, 1, .* at ply 7"):
        Search(Wild(answer), simulations=4).run(games)


def test_all_mass_on_illegal_moves_leaves_the_legal_ones_equal():
    def upside_down(positions):
        logits = np.where(legal_masks(positions, Rules()), -np.inf, np.inf).astype(np.float32)
        return logits, np.zeros(len(logits), np.float32)

    result = Search(upside_down, simulations=40).run(of_texts("2-1-0-3-0-1-0-4-1-0-2-0-18-16-S"))
    assert result.priors[0] == pytest.approx([0.25, 0.25, 0, 0.25, 0, 0.25])
    assert (result.visits[0, [0, 1, 3, 5]] > 0).all()


@pytest.mark.parametrize("shapes", [((2, 6), (1,)), ((1, 6), (1, 1)), ((1, 7), (1,))])
def test_an_evaluator_that_answers_in_another_shape_is_refused(shapes):
    def wrong(positions):
        return tuple(np.zeros(shape, np.float32) for shape in shapes)

    with pytest.raises(ValueError, match=r"must be \(1, 6\) and \(1,\)"):
        Search(wrong, simulations=4).run(of_texts("4-4-4-4-4-4-4-4-4-4-4-4-0-0-S"))


@pytest.mark.parametrize("evaluator", [row_wise, RolloutEvaluator(SHORT)], ids=["made", "rollout"])
def test_a_row_does_not_depend_on_the_other_rows_and_runs_repeat(positions, evaluator):
    games = positions(40, seed=3, rules=SHORT)
    together = Search(evaluator, SHORT, simulations=50).run(games, noise=0.25)
    used = Search(evaluator, SHORT, simulations=50)
    for rows in (np.arange(40), np.arange(40)[::-1], *np.arange(40).reshape(-1, 1)):
        apart = used.run(take(games, rows), noise=0.25)
        assert same(apart, tuple(array[rows] for array in together))


def test_a_position_and_the_same_one_of_the_other_seat_are_searched_alike(random_game):
    for state in random_game(4)[::5]:
        if state.is_over:
            continue
        houses, stores = state.houses, state.stores
        counts = (*houses[6:], *houses[:6], *stores[::-1])
        text = "-".join(map(str, counts)) + "-" + "SN"[state.south_to_move]
        turned = State.parse(text, ply=state.ply)
        assert turned.south_to_move != state.south_to_move
        results = [
            Search(RolloutEvaluator(), simulations=60).run(of_boards([each.board], state.ply))
            for each in (state, turned)
        ]
        assert same(*results)


def test_noise_keeps_priors_a_distribution_over_the_legal_moves(positions):
    games = positions(60, seed=9)
    search = Search(row_wise, simulations=1)
    plain, noisy, all_noise = (search.run(games, noise=share).priors for share in (0, 0.25, 1.0))
    legal = legal_masks(games, Rules())
    for priors in (noisy, all_noise):
        assert (priors >= 0).all() and (priors[~legal] == 0).all()
        assert priors.sum(axis=1) == pytest.approx(np.ones(60), abs=1e-5)
    assert noisy == pytest.approx(0.75 * plain + 0.25 * all_noise, abs=1e-5)
    several = legal.sum(axis=1) > 1
    assert (np.abs(noisy - plain).max(axis=1)[several] > 1e-4).all()


def test_noise_is_keyed_and_uniform_on_the_simplex():
    games = of_boards([State.initial().board] * 4000)
    search = Search(nothing_known, simulations=1)
    noise = search.run(games, noise=1.0).priors
    assert same([noise], [search.run(games, noise=1.0).priors])
    assert len(np.unique(noise, axis=0)) == 4000
    later = search.run(games._replace(plies=games.plies + 1), noise=1.0).priors
    assert not (later == noise).any()
    # Dirichlet(1) of six: mean 1/6, variance 5/252; four standard errors of 4000 draws.
    assert noise.mean(axis=0) == pytest.approx(np.full(6, 1 / 6), abs=4 * (5 / 252 / 4000) ** 0.5)
    assert noise.var(axis=0) == pytest.approx(np.full(6, 5 / 252), rel=0.15)


VISITS = np.array([10, 0, 30, 40, 0, 20], np.int32)


def drawn(exponent, count=20_000, ply=3):
    visits = np.tile(VISITS, (count, 1))
    moves = draw_moves(visits, keys(count), np.full(count, ply), np.full(count, exponent))
    assert moves.dtype == np.int8
    return moves


@pytest.mark.parametrize("exponent", [0.0, 0.5, 1.0, 2.0])
def test_moves_are_drawn_in_proportion_to_powers_of_the_visits(exponent):
    counts = np.bincount(drawn(exponent), minlength=6)
    weights = np.where(VISITS, VISITS.astype(float) ** exponent, 0)
    expected = 20_000 * weights / weights.sum()
    assert (counts[VISITS == 0] == 0).all()
    tried = VISITS > 0
    distance = ((counts[tried] - expected[tried]) ** 2 / expected[tried]).sum()
    assert distance < 16.27  # chi-square, 3 degrees of freedom, one in a thousand


@pytest.mark.parametrize("exponent", [1e3, 1e9, np.inf])
def test_a_large_exponent_draws_the_most_visited_move(exponent):
    assert (drawn(exponent, 500) == 3).all()


def test_draws_are_keyed_by_game_and_ply():
    assert np.array_equal(drawn(1.0), drawn(1.0))
    assert not np.array_equal(drawn(1.0), drawn(1.0, ply=4))


@given(
    st.lists(st.integers(0, 2**31 - 1), min_size=6, max_size=6).filter(any),
    st.floats(0, 1e6),
    st.integers(0, 2**64 - 1),
)
def test_a_move_without_visits_is_never_drawn(visits, exponent, key):
    visits = np.array([visits], np.int32)
    moves = draw_moves(visits, np.array([key], np.uint64), np.zeros(1, int), np.array([exponent]))
    assert visits[0, moves[0]] > 0


def test_the_agent_plays_the_most_visited_move_with_ties_by_key(positions):
    games = positions(40, seed=4)
    search = Search(row_wise, simulations=48)
    result = search.run(games)
    decisions = Mcts(search, "mcts", choice="visits").decide(games)
    assert [array.dtype for array in decisions] == [np.int8, np.float32, np.float32]
    chosen = result.visits[np.arange(40), decisions.moves]
    assert np.array_equal(chosen, result.visits.max(axis=1))
    assert np.array_equal(decisions.policy, (result.visits / 48).astype(np.float32))
    assert np.array_equal(decisions.value, result.values)
    # Six simulations of equal moves visit each once: every move is then as likely.
    for choice in ("visits", "lcb"):
        even = Mcts(Search(nothing_known, simulations=6), "mcts", choice=choice)
        moves = even.decide(of_boards([State.initial().board] * 3000)).moves
        assert np.bincount(moves, minlength=6) == pytest.approx(np.full(6, 500), abs=90)


def test_bad_settings_are_refused():
    with pytest.raises(OwareError, match="at least 1 simulation, not 0"):
        Search(nothing_known, simulations=0)
    with pytest.raises(OwareError, match="exploration must be a number of at least 0, not nan"):
        Search(nothing_known, simulations=1, exploration=math.nan)
    with pytest.raises(OwareError, match="growth of exploration must be a number of at least 0"):
        Search(nothing_known, simulations=1, exploration=Exploration(1.0, growth=-1.0))
    with pytest.raises(OwareError, match="games are played under abapa, not awari"):
        Search(nothing_known, AWARI, simulations=1)
