"""Every game of a run, kept so that any can be played again, move by move.

A game's number is that of its unit times the games of a unit, plus its place there; it is also
what its random numbers are keyed by. Its start follows from the configuration, so only the moves
and the result are kept: some 130 bytes a game, in append-only files (:mod:`train.shards`).
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from agents.neural.checkpoint import newest_checkpoint, read_state
from oware_env.errors import OwareError
from oware_env.notation import move_letter
from oware_env.records import GameRecord
from oware_env.rules import REASONS, RUNNING, SEEDS
from train.config import Config
from train.samples import GameEnds
from train.selfplay import start_games
from train.shards import Shards

GAME = np.dtype(
    [("first", "<i8"), ("moves", "<i4"), ("south", "<i2"), ("north", "<i2"), ("reason", "i1")]
)
MOVE = np.dtype("i1")
ADJUDICATED = "adjudicated by the table of endgames"


class KeptGame(NamedTuple):
    """One game of a run."""

    number: int
    record: GameRecord
    scores: tuple[int, int]  # (South, North) as it was settled
    reason: str  # why it ended


class GameStore:
    """The games of a run, in its folder."""

    def __init__(self, folder: Path) -> None:
        """An empty store whose files go into ``folder``/games."""
        self._games = Shards(folder / "games" / "results", GAME)
        self._moves = Shards(folder / "games" / "moves", MOVE, rows_per_file=1 << 23)

    def add(self, moves: tuple[np.ndarray, np.ndarray], ends: GameEnds) -> None:
        """Add the games of the next unit; ``moves`` as in Lockstep.moves. OwareError: disk full."""
        played, offsets = moves
        rows = np.empty(len(ends.plies), GAME)
        rows["first"] = self._moves.rows + offsets[:-1]
        rows["moves"] = np.diff(offsets)
        rows["south"], rows["north"] = ends.scores[:, 0], ends.scores[:, 1]
        rows["reason"] = ends.reasons
        self._moves.append(played)
        self._games.append(rows)

    def state(self) -> dict[str, Any]:
        """What :meth:`restore` needs, for a checkpoint; the games are on the disk then."""
        return {name: shards.state() for name, shards in self._shards.items()}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on with the games that :meth:`state` told of; OwareError when a file is damaged."""
        for name, shards in self._told(state):
            shards.restore(state[name])

    def look_at(self, state: dict[str, Any]) -> None:
        """Read the games that :meth:`state` told of and change nothing; raises as above."""
        for name, shards in self._told(state):
            shards.look_at(state[name])

    def _told(self, state: dict[str, Any]) -> Iterable[tuple[str, Shards]]:
        """The files by name, once a checkpoint is known to tell of all."""
        if state.keys() != self._shards.keys():
            raise OwareError(f"the checkpoint does not tell of {' and '.join(self._shards)}")
        return self._shards.items()

    def close(self) -> None:
        """Close the files."""
        for shards in self._shards.values():
            shards.close()

    @property
    def _shards(self) -> dict[str, Shards]:
        return {"results": self._games, "moves": self._moves}

    def __len__(self) -> int:
        return self._games.rows

    def game(self, number: int, config: Config) -> KeptGame:
        """One game of a run with this configuration. Raises OwareError when there is none such."""
        if not 0 <= number < len(self):
            raise OwareError(f"there is no game {number}: the run holds games 0 to {len(self) - 1}")
        row = self._games.read(number, number + 1)[0]
        begin, length, code = int(row["first"]), int(row["moves"]), int(row["reason"])
        scores = (int(row["south"]), int(row["north"]))
        if not (
            0 <= begin <= begin + length <= self._moves.rows
            and 0 <= code < len(REASONS)
            and min(scores) >= 0
            and sum(scores) <= SEEDS
        ):
            raise OwareError(f"{self._games.folder}: game {number} is none that a run has played")
        moves = self._moves.read(begin, begin + length)
        unit, place = divmod(number, config.selfplay.games)
        try:
            record = GameRecord.from_moves(moves.tolist(), start_games(config, unit).state(place))
        except OwareError as error:
            raise OwareError(f"{self._games.folder}: game {number}, {error}") from None
        reason = REASONS[code] if code != RUNNING else ADJUDICATED
        return KeptGame(number, record, scores, reason)


def kept_game(run: Path, number: int, config: Config) -> KeptGame:
    """One game of the run in a folder, as far as its newest checkpoint; raises OwareError."""
    with _kept(run) as store:
        return store.game(number, config)


def last_games(run: Path, most: int, config: Config) -> list[KeptGame]:
    """The newest games of the run in a folder, ``most`` of them; raises OwareError."""
    with _kept(run) as store:
        return [store.game(number, config) for number in range(len(store))[-most:]]


@contextmanager
def _kept(run: Path) -> Iterator[GameStore]:
    """The games of the run in a folder, to read."""
    state = read_state(newest_checkpoint(run))
    if "games_kept" not in state:
        raise OwareError(f"{run} was written by an earlier version: its games were not kept")
    store = GameStore(run)
    store.look_at(state["games_kept"])
    try:
        yield store
    finally:
        store.close()


def game_text(game: KeptGame) -> str:
    """Every move with the position it leads to, how the game ended, and the game as OGN."""
    record, lines = game.record, []
    states = record.states()
    state = next(states)
    lines.append(f"game {game.number} from ply {state.ply}: {state.to_text()}")
    for move, after in zip(record.moves, states, strict=True):
        letter = move_letter(move, state.south_to_move)
        lines.append(f"{state.ply + 1:>4}. {letter}  {after.to_text()}")
        state = after
    lines.append(f"{game.scores[0]}-{game.scores[1]} ({game.reason})\n")
    return "\n".join(lines) + "\n" + record.to_ogn().rstrip()
