"""Trees kept between moves: what a new tree takes over, what it must not, and for how long."""

import numpy as np
import pytest

from agents.arena.match import play_match
from agents.search.kept_trees import KeptTrees, pack_trees
from agents.search.match_play import MatchPlay, Mcts, match_player
from agents.search.mcts import Search
from agents.search.proofs import OPEN
from agents.search.rollout import RolloutEvaluator
from agents.search.tree import BOARD, CHILDREN, COUNT, PLY, PROOF, STATUS, VISITS
from oware_env.positions import Positions, as_positions, game_keys
from oware_env.rules import Rules, play, status
from oware_env.state import State


def row_wise(positions):
    """An evaluator that makes up logits and values from each board alone."""
    weights = np.random.default_rng(3).normal(size=(7, 14))
    numbers = np.sin((weights * positions.boards[:, None].astype(np.float64)).sum(axis=2))
    return (3 * numbers[:, :6]).astype(np.float32), numbers[:, 6].astype(np.float32)


class Counting:
    """``row_wise``, with the number of positions it was asked for."""

    def __init__(self):
        self.asked = 0

    def __call__(self, positions):
        self.asked += len(positions.plies)
        return row_wise(positions)


def take(positions, rows):
    return Positions(*(np.ascontiguousarray(array[rows]) for array in positions))


def same(left, right):
    return all(np.array_equal(a, b) for a, b in zip(left, right, strict=True))


def after(positions, moves):
    """The positions after a move each."""
    boards = positions.boards.copy()
    for board, move in zip(boards, moves, strict=True):
        play(board, move)
    return positions._replace(boards=boards, plies=positions.plies + 1)


def running(positions):
    pairs = zip(positions.boards, positions.plies, strict=True)
    return np.array([status(board, ply, 400) < 64 for board, ply in pairs])


def first_legal(positions):
    pairs = zip(positions.boards, positions.plies, strict=True)
    return [next(m for m in range(6) if status(b, p, 400) >> m & 1) for b, p in pairs]


def middle_games(positions, count, seed=1):
    """Running positions that still run after any two plies of the tests."""
    games = positions(12 * count, seed=seed)
    chosen = np.flatnonzero(games.boards[:, 12:].max(axis=1) < 16)[:count]
    assert len(chosen) == count
    return take(games, chosen)


def reusing(simulations, evaluator=row_wise, **settings):
    return Mcts(Search(evaluator, simulations=simulations, **settings), "reusing", reuse=True)


@pytest.mark.parametrize("simulations", [1, 40])
def test_a_position_that_comes_again_is_searched_on(positions, simulations):
    games = middle_games(positions, 30)
    agent = reusing(simulations)
    first = agent.decide(games)
    assert same(first, Mcts(Search(row_wise, simulations=simulations), "fresh").decide(games))
    second = agent.decide(games)
    longer = Mcts(Search(row_wise, simulations=2 * simulations), "longer").decide(games)
    assert same(second, longer)


def nodes_below(tree, game, node):
    """(path, node) of a node and all below it."""
    waiting = [((), node)]
    while waiting:
        path, node = waiting.pop()
        yield path, node
        for move in range(6):
            child = int(tree.ints[game, node, CHILDREN + move])
            if child >= 0:
                waiting.append(((*path, move), child))


def contents(tree, game, root):
    """{path: everything a node holds but the numbers of its children}."""
    found = {}
    for path, node in nodes_below(tree, game, root):
        entries = tree.ints[game, node].copy()
        entries[CHILDREN : CHILDREN + 6] = entries[CHILDREN : CHILDREN + 6] >= 0
        found[path] = entries.tolist()
    return found


def test_the_new_tree_is_what_lay_below_the_move_and_the_reply(positions):
    games = middle_games(positions, 20)
    search = Search(row_wise, simulations=200)
    search.begin(games)
    search.grow(games.keys, 200)
    old = search._tree
    replies, expected = [], []
    for game in range(20):
        move = int(old.ints[game, 0, VISITS : VISITS + 6].argmax())
        node = old.ints[game, 0, CHILDREN + move]
        reply = int(old.ints[game, node, VISITS : VISITS + 6].argmax())
        replies.append((move, reply))
        expected.append(contents(old, game, old.ints[game, node, CHILDREN + reply]))
    known = KeptTrees()
    known.add_call([search.pack(games.keys, 1000)])
    evaluator = Counting()
    other = Search(evaluator, simulations=200)
    now = after(after(games, [move for move, _ in replies]), [reply for _, reply in replies])
    rows = np.random.default_rng(0).permutation(20)[:15]
    other.begin(take(now, rows), known)
    assert evaluator.asked == 0
    for game, row in enumerate(rows):
        assert contents(other._tree, game, 0) == expected[row]
        numbers = [node for _, node in nodes_below(other._tree, game, 0)]
        assert sorted(numbers) == list(range(other._tree.sizes[game]))
    other.grow(now.keys[rows], 200)
    for game, row in enumerate(rows):
        start = expected[row][()]
        assert other._tree.ints[game, 0, COUNT] == start[COUNT] + 200


def test_only_known_positions_spare_the_evaluator(positions):
    games = middle_games(positions, 12)
    evaluator = Counting()
    agent = reusing(30, evaluator)
    agent.decide(games)
    now = after(games, agent.decide(games).moves)
    now = after(now, first_legal(now))
    assert running(now).all()
    fresh = Mcts(Search(row_wise, simulations=30), "fresh")
    # Other keys, other plies, or boards that are not in the tree: as without a tree.
    other_keys = now._replace(keys=game_keys(np.uint64(99), np.arange(12)))
    later = now._replace(plies=now.plies + 2)
    elsewhere = now._replace(boards=now.boards[::-1].copy(), plies=now.plies[::-1].copy())
    for strange in (other_keys, later, elsewhere):
        agent = reusing(30)
        agent.decide(games)
        assert same(agent.decide(strange), fresh.decide(strange))


def test_games_are_forgotten_when_two_calls_came_without_them(positions):
    games = middle_games(positions, 24)
    south, north, others = (take(games, slice(start, start + 8)) for start in (0, 8, 16))
    fresh, longer = (Mcts(Search(row_wise, simulations=n), "plain") for n in (25, 50))
    agent = reusing(25)
    agent.decide(south)
    agent.decide(north)  # the agent's games from the other seat
    assert same(agent.decide(south), longer.decide(south))
    assert same(agent.decide(north), longer.decide(north))
    agent.decide(others)
    agent.decide(others)
    assert same(agent.decide(south), fresh.decide(south))


def test_an_older_call_is_dropped_once_all_its_games_have_come_again(positions):
    games = middle_games(positions, 6)
    search = Search(row_wise, simulations=5)
    search.run(games)
    known = KeptTrees()
    for rows in ([0, 1, 2], [3, 4], [4, 3], [5, 4, 3]):
        known.add_call([pack_trees(search._tree, games.keys[row : row + 1], 9) for row in rows])
    assert [call.keys.tolist() for call in known._calls] == [games.keys[[5, 4, 3]].tolist()]
    known.add_call([])
    assert len(known._calls) == 1


def test_a_tree_takes_over_no_more_nodes_than_a_search_makes(positions):
    games = middle_games(positions, 10)
    agent = reusing(20)
    search = agent.search
    for _ in range(6):  # the same positions: all of the tree would come again
        agent.decide(games)
        assert (search._tree.sizes[:10] <= 2 * 20 + 7).all()
        assert search._tree.ints.shape[1] == 2 * (20 + 7)
    assert (search._tree.ints[:10, 0, COUNT] == 6 * 20 + 1).all()  # what was seen still counts


def test_of_a_tree_in_part_the_newest_nodes_are_missing_and_are_found_again(positions):
    games = middle_games(positions, 10)
    search = Search(row_wise, simulations=60)
    search.begin(games)
    search.grow(games.keys, 60)
    known = KeptTrees()
    known.add_call([search.pack(games.keys, 12)])
    search.begin(games, known)
    assert (search._tree.sizes[:10] <= 12).all()
    assert (search._tree.ints[:10, 0, COUNT] == 61).all()
    search.grow(games.keys, 60)
    for game in range(10):
        for _, node in nodes_below(search._tree, game, 0):
            entries = search._tree.ints[game, node]
            if entries[STATUS] < 64:
                assert entries[COUNT] == 1 + entries[VISITS : VISITS + 6].sum()
                board = search._tree.bytes[game, node, BOARD : BOARD + 14]
                assert entries[STATUS] == status(board, entries[PLY], 400)


def test_equal_positions_of_a_game_in_one_batch_are_no_harm(positions):
    games = middle_games(positions, 4)
    twice = Positions(*(np.concatenate([array, array]) for array in games))
    agent = reusing(10)
    agent.decide(twice)
    again = agent.decide(twice)
    assert same(again, (np.concatenate([a[:4], a[:4]]) for a in again))


def test_no_positions_are_no_call(positions):
    games = middle_games(positions, 4)
    nobody = take(games, slice(0, 0))
    for time in (None, 0.01):
        agent = Mcts(Search(row_wise, simulations=8), "x", time=time, reuse=True)
        assert [len(array) for array in agent.decide(nobody)] == [0, 0, 0]


def test_games_played_with_kept_trees_are_legal_and_end():
    rules = Rules(max_plies=120)
    agent = match_player(RolloutEvaluator(rules), rules, MatchPlay(sims=12, reuse=True))
    result = play_match(agent, "random", games=20, rules=rules)
    assert result.score > 0.6


@pytest.mark.parametrize("sims", [1, 30])
def test_proved_wins_are_won_with_kept_trees(table, proved_wins, games_won, sims):
    start = proved_wins(table, (4, 5, 6), 60)
    play = MatchPlay(sims=sims, reuse=True)
    agent = match_player(RolloutEvaluator(), Rules(), play, table=table.arrays)
    won, _ = games_won(table, agent, start, "best")
    assert won.all()


def test_a_proved_root_stays_proved_while_its_proof_is_in_the_tree(table, proved_wins):
    start = proved_wins(table, (5, 6), 80)
    board_and_keys = as_positions(
        start.boards, start.plies, game_keys(np.uint64(1), np.arange(len(start.plies)))
    )
    search = Search(row_wise, simulations=60, table=table.arrays)
    search.begin(board_and_keys)
    search.grow(board_and_keys.keys, 60)
    first = search.read(len(start.plies))
    proved = search._tree.bytes[: len(start.plies), 0, PROOF] != OPEN
    assert proved.any()
    known = KeptTrees()
    known.add_call([search.pack(board_and_keys.keys, 1000)])
    search.begin(board_and_keys, known)
    assert np.array_equal(search._tree.bytes[: len(start.plies), 0, PROOF] != OPEN, proved)
    assert same(search.read(len(start.plies)), first)
    roots_only = KeptTrees()
    roots_only.add_call([search.pack(board_and_keys.keys, 1)])
    search.begin(board_and_keys, roots_only)
    again = search.read(len(start.plies))
    assert (again.values[proved] == 1).all()  # found again by the table


def test_a_hint_and_the_same_agent_for_both_seats_share_what_they_know():
    agent = reusing(40)
    state, counts = State.initial(), []
    key = game_keys(np.uint64(0), np.arange(1))
    for _ in range(6):
        asked = as_positions(state.board[None], np.array([state.ply]), key)
        state = state.play(int(agent.decide(asked).moves[0]))
        counts.append(int(agent.search._tree.ints[0, 0, COUNT]))
    assert counts[0] == 41 and all(count > 41 for count in counts[1:])
