"""A million games of random moves with `Batch`: who starts better off, how long, how games end.

    python docs/how_to/million_games.py --games 1000000

The rows of a `Batch` restart at once, so whoever stops after the first N *finished* games has
counted too many short ones. Each game has a number: this takes games 0 to N - 1 and waits for the
last of them. Moves are drawn by the agent `random` from each game's own key, so the result is the
same for every size of the batch. Put any other agent or your own network in its place.
"""

import time

import numpy as np
import tyro

import agents
from agents.arena.ratings import score_interval
from oware_env import Batch
from oware_env.rules import REASONS


def play_games(games: int, size: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Games 0 .. ``games - 1``: settled scores [N, 2] (South, North), plies and reasons [N]."""
    player, batch = agents.make("random"), Batch(min(size, games), seed=seed)
    scores = np.empty((games, 2), np.int16)
    plies, reasons = np.empty(games, np.int32), np.empty(games, np.int8)
    missing = games
    while missing:
        finished = batch.step(player.decide(batch.positions()).moves)
        wanted = finished.games < games
        numbers = finished.games[wanted]
        scores[numbers], plies[numbers] = finished.scores[wanted], finished.plies[wanted]
        reasons[numbers] = finished.reasons[wanted]
        missing -= len(numbers)
    return scores, plies, reasons


def main(games: int = 1_000_000, size: int = 4096, seed: int = 0) -> None:
    """Play ``games`` in a batch of ``size`` and print what they show."""
    start = time.perf_counter()
    scores, plies, reasons = play_games(games, size, seed)
    seconds = time.perf_counter() - start
    margins = scores[:, 0] - scores[:, 1]
    points = (np.sign(margins) + 1) / 2
    low, high = score_interval(points)
    first, draws, second = ((points == value).mean() for value in (1.0, 0.5, 0.0))
    print(f"{games:,} games, {plies.sum():,} moves in {seconds:.1f} s")
    print(f"{plies.sum() / seconds:,.0f} moves/s, {games / seconds:,.0f} games/s")
    print(f"first player scores {points.mean():.2%} [{low:.2%}, {high:.2%}]")
    print(f"first player wins {first:.2%}, draws {draws:.2%}, second player wins {second:.2%}")
    print(f"mean margin {margins.mean():+.3f} seeds for the first player")
    places = np.percentile(plies, [1, 50, 99]).astype(int)
    print(
        f"plies: mean {plies.mean():.1f}, 1 % / median / 99 % {places.tolist()}, {plies.max()} most"
    )
    for code, name in enumerate(REASONS[1:], start=1):
        print(f"ended by {name}: {(reasons == code).mean():.3%}")


if __name__ == "__main__":
    tyro.cli(main)
