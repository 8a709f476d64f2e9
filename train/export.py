"""The data set of a run: its positions with all that is known of them, as one NPZ file.

A column is an array of the file, and ``about`` says in JSON what they mean and where they come
from; nothing in it needs pickle. Columns are written one after the other and in pieces, so the
memory this takes grows by the exact labels alone: four bytes a position.
"""

import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from agents.neural.checkpoint import newest_checkpoint, read_state
from agents.settings import read_settings
from agents.tablebase.probe import Tablebase, open_table
from oware_env.errors import OwareError
from oware_env.files import is_folder, written_whole
from oware_env.positions import Positions
from train.config import Config
from train.endgames import final_bounds, open_mode_table
from train.replay import SAMPLE, check_columns
from train.run import CONFIG, commit, run_config
from train.samples import DRAW, UNKNOWN_MARGIN
from train.shards import Shards

FORMAT = "oware-dataset 1"
FILE = "dataset.npz"
PIECE = 1 << 18  # positions read at once
NOT_PROVED = -1


class Column(NamedTuple):
    """One array of a data set, without its first axis, the positions."""

    kind: str  # NumPy's name of the type
    shape: tuple[int, ...]
    meaning: str


COLUMNS = {
    "boards": Column(
        "int8",
        (14,),
        "seeds as the mover sees them: 0-5 own houses in sowing order, 6-11 the opponent's houses, "
        "12 own store, 13 the opponent's store",
    ),
    "plies": Column("int32", (), "moves played before the position"),
    "games": Column(
        "int32", (), "number of the game in the run: oware-train replay RUN NUMBER shows it"
    ),
    "policies": Column(
        "float32",
        (6,),
        "policy target, shares of the mover's houses that sum to 1: those of the search's visits, "
        "or in a position that the run's table decides the network's own over the moves that "
        "keep most seeds; all 0 where there was no search",
    ),
    "values": Column(
        "float32",
        (),
        "mean value of the search's root for the mover, -1 to 1; exactly 1, 0 or -1 where the "
        "run's table decides; NaN where there was neither",
    ),
    "results": Column(
        "int8",
        (),
        "result for the mover as it was learned: 0 win, 1 draw, 2 loss; corrected by the run's "
        "table where it proves better",
    ),
    "margins": Column(
        "int8",
        (),
        "full margin: seeds the mover still gets minus seeds the opponent still gets, as learned; "
        f"{UNKNOWN_MARGIN} where the game stopped before it was known",
    ),
}
EXACT = {
    "exact_known": Column("bool", (), "whether the table proves the result of the position"),
    "exact_result": Column(
        "int8", (), f"the proved result, 0 win, 1 draw, 2 loss; {NOT_PROVED} where there is none"
    ),
    "exact_low": Column(
        "int8",
        (),
        "least full margin in seeds that is proved; minus the seeds in the houses where nothing is",
    ),
    "exact_high": Column(
        "int8",
        (),
        "greatest full margin in seeds that is proved; the seeds in the houses where nothing is",
    ),
}


class Exported(NamedTuple):
    """What was exported."""

    path: Path
    positions: int
    held: int  # positions the run still has
    made: int  # positions the run ever had
    proved: float | None  # share whose result is proved; None without a table

    def __str__(self) -> str:
        size = self.path.stat().st_size / 1e6
        text = f"{self.path}: {self.positions:,} positions ({size:,.1f} MB)"
        if self.proved is not None:
            text += f", {self.proved:.0%} with a proved result"
        if self.held < self.made:
            text += (
                f"\nthe run holds {self.held:,} of the {self.made:,} positions it made: "
                "one with replay.keep = true holds all"
            )
        return text


class _Source(NamedTuple):
    """The positions of a run that go into the file."""

    shards: Shards
    start: int
    stop: int

    def pieces(self) -> Iterator[np.ndarray]:
        """All rows in order, a piece at a time."""
        for start in range(self.start, self.stop, PIECE):
            yield self.shards.read(start, min(start + PIECE, self.stop))


def export_dataset(
    run: Path, output: Path | None = None, table: int | None = None, last: int | None = None
) -> Exported:
    """Write the positions of a run's newest checkpoint to ``output``, or to RUN/dataset.npz.

    Those are all that the run still holds, or the ``last`` so many of them. ``table``: most seeds
    of the table that gives exact labels, left out: the run's own if it played with one. Raises
    OwareError when the run has no positions, a file of theirs is damaged, the table does not
    exist, or the output cannot be written.
    """
    state = read_state(newest_checkpoint(run))
    path = output if output is not None else run / FILE
    if not is_folder(path.absolute().parent):
        raise OwareError(f"{path} cannot be written: there is no folder {path.parent}")
    if "replay" not in state:
        algorithm = read_settings(Config, run / CONFIG).algorithm
        raise OwareError(f"{run} holds no positions: {algorithm} keeps none, alphazero does")
    check_columns(state["replay"], run / "replay")
    config = run_config(run)
    labels = open_table(table) if table is not None else open_mode_table(config)
    shards = Shards(run / "replay", SAMPLE)
    shards.look_at(state["replay"])
    try:
        start = shards.first if last is None else max(shards.first, shards.rows - last)
        source = _Source(shards, start, shards.rows)
        exact = {} if labels is None else _exact(source, labels, config.max_plies)
        about = _about(source, config, state) | {"table": labels.seeds if labels else None}
        _write(path, about, source, exact)
    finally:
        shards.close()
    proved = float(exact["exact_known"].mean()) if exact else None
    held = shards.rows - shards.first
    return Exported(path, source.stop - source.start, held, shards.rows, proved)


def _exact(source: _Source, table: Tablebase, max_plies: int) -> dict[str, np.ndarray]:
    """The columns of EXACT for all positions of a source."""
    count = source.stop - source.start
    columns = {name: np.empty(count, column.kind) for name, column in EXACT.items()}
    done = 0
    for rows in source.pieces():
        boards, piece = _boards(rows), slice(done, done + len(rows))
        positions = Positions(boards, rows["plies"], np.zeros(len(rows), np.uint64))
        bounds, ahead = final_bounds(table, positions, max_plies), boards[:, 12] - boards[:, 13]
        results = DRAW - np.sign(bounds.least)
        columns["exact_known"][piece] = bounds.decided
        columns["exact_result"][piece] = np.where(bounds.decided, results, NOT_PROVED)
        columns["exact_low"][piece] = bounds.least - ahead
        columns["exact_high"][piece] = bounds.greatest - ahead
        done += len(rows)
    return columns


def _boards(rows: np.ndarray) -> np.ndarray:
    return rows["inputs"][:, :14].astype(np.int8)


def _about(source: _Source, config: Config, state: dict[str, Any]) -> dict[str, Any]:
    """Where the positions come from."""
    return {
        "format": FORMAT,
        "positions": source.stop - source.start,
        "first": source.start,  # number of the first one, of those the run ever made
        "made": source.shards.rows,
        "rules": config.rules._asdict(),
        "seed": config.seed,
        "commit": state["commit"],
        "exported_by": commit(),
        "steps": state["steps"],
        "config": config.model_dump(),
    }


def _write(
    path: Path, about: dict[str, Any], source: _Source, exact: dict[str, np.ndarray]
) -> None:
    """Write the file; there is never half of one."""
    count = source.stop - source.start
    described = COLUMNS | {name: EXACT[name] for name in exact}
    about["columns"] = {
        name: {"dtype": column.kind, "shape": [count, *column.shape], "meaning": column.meaning}
        for name, column in described.items()
    }
    with written_whole(path) as file, zipfile.ZipFile(file, "w") as archive:
        text = np.array(json.dumps(about, indent=1))
        _write_column(archive, "about", text.dtype, (), iter((text,)))
        for name, column in COLUMNS.items():
            shape = count, *column.shape
            _write_column(archive, name, np.dtype(column.kind), shape, _pieces(source, name))
        for name, array in exact.items():
            _write_column(archive, name, array.dtype, array.shape, iter((array,)))


def _pieces(source: _Source, name: str) -> Iterator[np.ndarray]:
    """One column of a source, a piece at a time."""
    for rows in source.pieces():
        yield _boards(rows) if name == "boards" else rows[name]


def _write_column(
    archive: zipfile.ZipFile,
    name: str,
    kind: np.dtype,
    shape: tuple[int, ...],
    pieces: Iterator[np.ndarray],
) -> None:
    """Add an array in the format of NPY, its content in pieces."""
    entry = zipfile.ZipInfo(f"{name}.npy")  # without a date: equal runs give equal files
    entry.compress_type = zipfile.ZIP_DEFLATED
    header = {
        "descr": np.lib.format.dtype_to_descr(kind),
        "fortran_order": False,
        "shape": shape,
    }
    with archive.open(entry, "w", force_zip64=True) as file:
        np.lib.format.write_array_header_1_0(file, header)
        for piece in pieces:
            file.write(np.ascontiguousarray(piece, kind).tobytes())
