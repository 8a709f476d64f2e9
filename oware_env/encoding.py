"""Boards as observations and as network input: the only place that does it.

All encodings are seen by the side to move, so a seat swap never changes them. A change of what
networks see bumps :data:`ENCODING_VERSION`; one of the observations, the environment's version.
"""

import numpy as np

from oware_env.errors import OwareError, shown
from oware_env.kernel import kernel
from oware_env.rules import SEEDS, unpack
from oware_env.tactics import TACTICS, write_tactics

ENCODING_VERSION = 2
COUNTS_SIZE = 15
HOUSE_CLASSES = 13  # 0 .. 11 seeds, and "12 or more": a house that laps the board
ONEHOT_SIZE = COUNTS_SIZE + 12 * HOUSE_CLASSES
PLIES_LEFT = 14  # entry of a network's input; the tactics follow it
NETWORK_SIZE = PLIES_LEFT + 1 + TACTICS
PLIES_LEFT_CLIP = 64
OBSERVATION_SIZES = {"counts": COUNTS_SIZE, "onehot": ONEHOT_SIZE}

MASKS = tuple((np.arange(64)[:, None] >> np.arange(6) & 1).astype(np.int8))
"""Every six-bit move mask as int8[6]: copying a row is several times faster than a kernel call."""


def observation_size(kind: str) -> int:
    """Length of an observation of ``kind`` (``"counts"`` or ``"onehot"``); else OwareError."""
    try:
        return OBSERVATION_SIZES[kind]
    except (KeyError, TypeError):
        raise OwareError(f"observation must be 'counts' or 'onehot', not {shown(kind)}") from None


@kernel
def encode_counts(board, ply, max_plies, out):
    """Write one board into ``out[:15]``, float32 in [0, 1].

    0-5 own houses, 6-11 the opponent's, 12 own store, 13 the opponent's (each / 48), 14 plies
    left / max_plies.
    """
    for entry in range(14):
        out[entry] = np.float32(board[entry]) / np.float32(SEEDS)
    out[14] = np.float32(max(max_plies - ply, 0)) / np.float32(max_plies)


@kernel
def encode_houses(board, out):
    """Write a one-hot of 13 count classes for each of the 12 houses into ``out[15:]``."""
    out[COUNTS_SIZE:] = 0.0
    for house in range(12):
        seeds = min(np.int64(board[house]), HOUSE_CLASSES - 1)
        out[COUNTS_SIZE + house * HOUSE_CLASSES + seeds] = 1.0


@kernel
def encode_observations(boards, plies, max_plies, out):
    """Write B boards int8[B, 14] at ``plies`` int32[B] into ``out`` float32[B, 15 or 171]."""
    for row in range(len(boards)):
        encode_counts(boards[row], plies[row], max_plies, out[row])
    if out.shape[1] > COUNTS_SIZE:
        for row in range(len(boards)):
            encode_houses(boards[row], out[row])


@kernel
def encode_sides(own, other, ply, max_plies, out):
    """Write a board given as two packed sides (rules.pack) into ``out`` float32[15 or 171]."""
    board = unpack(own, other)
    encode_counts(board, ply, max_plies, out)
    if len(out) > COUNTS_SIZE:
        encode_houses(board, out)


@kernel
def network_input(boards, plies, max_plies):
    """B positions as uint8[B, 33]: the board, the plies left clipped at 64, and the tactics.

    Entries 0-13 are the board's, 15-32 those of :func:`oware_env.tactics.write_tactics`. Entry 14,
    the plies left, is constant until the limit is near, so equal boards share one encoding.
    """
    out = np.empty((len(boards), NETWORK_SIZE), np.uint8)
    for row in range(len(boards)):
        for entry in range(14):
            out[row, entry] = boards[row, entry]
        out[row, PLIES_LEFT] = max(0, min(PLIES_LEFT_CLIP, max_plies - plies[row]))
        write_tactics(boards[row], out[row, PLIES_LEFT + 1 :])
    return out
