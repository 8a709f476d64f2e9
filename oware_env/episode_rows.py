"""Episodes of a learner against an opponent as rows of arrays: the kernels of the vector env.

One row is one learner's run of episodes, as OwareSingleAgentEnv plays them. Knows neither
Gymnasium nor the opponent: who calls asks it between :func:`rows_to_answer` and
:func:`play_at`.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from oware_env.batch import play_rows
from oware_env.episode import ILLEGAL_REWARD, draw_opening, score_reward
from oware_env.errors import LARGEST_SEED, OwareError, seed_number, shown
from oware_env.kernel import kernel
from oware_env.positions import Positions, game_key
from oware_env.rules import initial_board, settle, status, turn


class EpisodeRows(NamedTuple):
    """N episodes, each in its row. Whose status offers no move (see :func:`over`) is over."""

    boards: np.ndarray  # int8[N, 14], seen by the side to move
    plies: np.ndarray  # int32[N]
    keys: np.ndarray  # uint64[N], name the games
    statuses: np.ndarray  # int16[N], rules.status; 0 when an illegal action ended the episode
    learner_to_move: np.ndarray  # bool[N]
    learner_is_south: np.ndarray  # bool[N]
    seeds: np.ndarray  # uint64[N]
    episodes: np.ndarray  # int64[N], number of the next episode since the seed
    steps: np.ndarray  # int32[N], the learner's in this episode


def read_seeds(seed: Any, count: int) -> tuple[np.ndarray, np.ndarray]:
    """The seeds of N rows, uint64[N], and which rows are given one, bool[N].

    One seed gives row i ``seed + i``; a list holds one for each row, or None. Raises OwareError.
    """
    is_list = isinstance(seed, Sequence) and not isinstance(seed, str | bytes)
    if not is_list and (not isinstance(seed, np.ndarray) or seed.ndim == 0):
        first = seed_number("seed", seed)
        if first > LARGEST_SEED + 1 - count:
            most = LARGEST_SEED + 1 - count
            raise OwareError(f"seed must be at most {most} for {count} rows, not {first}")
        return np.uint64(first) + np.arange(count, dtype=np.uint64), np.ones(count, np.bool_)
    if len(seed) != count:
        raise OwareError(f"a list of seeds needs one for each of {count} rows, not {len(seed)}")
    given = np.array([number is not None for number in seed])
    numbers = [
        0 if number is None else seed_number(f"the seed of row {row}", number)
        for row, number in enumerate(seed)
    ]
    return np.array(numbers, np.uint64), given


def read_mask(options: Mapping[str, Any] | None, count: int) -> np.ndarray:
    """The rows that reset options choose with ``reset_mask``, bool[N]: all without one."""
    if options is None or "reset_mask" not in options:
        return np.ones(count, np.bool_)
    mask = options["reset_mask"]
    if not isinstance(mask, np.ndarray) or mask.shape != (count,) or mask.dtype != np.bool_:
        found = f"{mask.dtype}{list(mask.shape)}" if isinstance(mask, np.ndarray) else shown(mask)
        raise OwareError(f"option 'reset_mask' must be a bool array [{count}], not {found}")
    if not mask.any():
        raise OwareError("option 'reset_mask' chooses no row: at least one must be True")
    return mask.copy()


def unopened_rows(seeds: np.ndarray, learner_is_south: bool) -> EpisodeRows:
    """Rows of given seeds uint64[N] before their first episode: all are over."""
    count = len(seeds)
    return EpisodeRows(
        boards=np.tile(initial_board(), (count, 1)),
        plies=np.zeros(count, np.int32),
        keys=np.zeros(count, np.uint64),
        statuses=np.zeros(count, np.int16),
        learner_to_move=np.full(count, learner_is_south),
        learner_is_south=np.full(count, learner_is_south),
        seeds=seeds.copy(),
        episodes=np.zeros(count, np.int64),
        steps=np.zeros(count, np.int32),
    )


def copied(rows: EpisodeRows) -> EpisodeRows:
    """The same rows in arrays of their own."""
    return EpisodeRows(*(array.copy() for array in rows))


def chosen(rows: EpisodeRows, which: np.ndarray) -> EpisodeRows:
    """The rows where ``which`` bool[N] holds, in arrays of their own."""
    return EpisodeRows(*(array[which] for array in rows))


def over(rows: EpisodeRows) -> np.ndarray:
    """Where the episode is over, bool[N]: by the rules, or by an illegal action."""
    return (rows.statuses & 63) == 0


@kernel
def open_rows(rows, which, opening, tries, max_plies):
    """Start the next episode in the rows ``which`` bool[N]; returns a row that found none, or -1.

    ``opening`` is (board, ply, whether South is to move, random plies played from there) and
    ``tries`` int64[N] how many episodes each row may still draw until one runs.
    """
    start, ply, south_to_move, random_plies = opening
    moves = np.empty(random_plies, np.int8)
    south_to_move ^= random_plies % 2 == 1
    for row in range(len(which)):
        if not which[row]:
            continue
        board, first = rows.boards[row], rows.episodes[row]
        board[:] = start
        numbering = rows.seeds[row], first, tries[row]
        episode = draw_opening(board, ply, moves, numbering, max_plies)
        if episode < 0:
            return row
        tries[row] -= episode + 1 - first
        rows.episodes[row] = episode + 1
        rows.keys[row] = game_key(rows.seeds[row], episode)
        rows.plies[row] = ply + random_plies
        rows.statuses[row] = status(board, rows.plies[row], max_plies)
        rows.learner_to_move[row] = south_to_move == rows.learner_is_south[row]
        rows.steps[row] = 0
    return -1


@kernel
def play_at(rows, places, moves, max_plies):
    """Play legal ``moves`` int8[K] in the rows ``places`` int64[K], in place."""
    boards, plies, statuses = rows.boards[places], rows.plies[places], rows.statuses[places]
    play_rows(boards, plies, moves, max_plies, statuses)
    for index in range(len(places)):
        row = places[index]
        rows.boards[row] = boards[index]
        rows.plies[row], rows.statuses[row] = plies[index], statuses[index]
        rows.learner_to_move[row] = not rows.learner_to_move[row]


@kernel
def play_actions(rows, actions, which, max_plies):
    """The learner's move in the rows ``which`` bool[N]; one that is not legal ends the episode."""
    places, moves = np.empty(len(which), np.int64), np.empty(len(which), np.int8)
    count = 0
    for row in range(len(which)):
        if not which[row]:
            continue
        rows.steps[row] += 1
        if rows.statuses[row] >> actions[row] & 1:
            places[count], moves[count] = row, actions[row]
            count += 1
        else:
            rows.statuses[row] = 0
    play_at(rows, places[:count], moves[:count], max_plies)


@kernel
def rows_to_answer(rows):
    """The K rows where the opponent is to move, int64[K], and their Positions, copied."""
    places = np.empty(len(rows.plies), np.int64)
    count = 0
    for row in range(len(places)):
        if rows.statuses[row] & 63 and not rows.learner_to_move[row]:
            places[count] = row
            count += 1
    places = places[:count]
    return places, Positions(rows.boards[places], rows.plies[places], rows.keys[places])


@kernel
def reward_rows(rows, by_margin):
    """The learner's reward of every row, float64[N]: 0 while its episode runs."""
    rewards = np.zeros(len(rows.plies))
    for row in range(len(rewards)):
        code = rows.statuses[row]
        if code == 0:
            rewards[row] = ILLEGAL_REWARD
        elif code >= 64:
            own, other = settle(rows.boards[row], code >> 6)
            if not rows.learner_to_move[row]:
                own, other = other, own
            rewards[row] = score_reward(own, other, by_margin)
    return rewards


@kernel
def learners_boards(rows):
    """The boards as the learner sees them, whoever is to move: a fresh int8[N, 14]."""
    boards = rows.boards.copy()
    for row in range(len(boards)):
        if not rows.learner_to_move[row]:
            turn(boards[row])
    return boards
