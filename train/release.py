"""``oware-train release``: what plays of a run, as a small checkpoint folder to share."""

from pathlib import Path

from agents.neural.checkpoint import newest_checkpoint, read_state, read_tensors, write_checkpoint
from oware_env.errors import OwareError
from oware_env.files import is_there, said
from train.run import read_provenance

PLAYS = "ema"  # the averaged weights
TOLD = ("rules", "network", "config", "seed", "commit", "torch")
TOLD_OF_LEARNING = ("steps", "games", "positions", "minutes")


def release(run: Path, folder: Path) -> str:
    """Write the averaged weights of a run's newest checkpoint, and how they came to be.

    The folder can be named wherever a run can be, as an agent; training cannot go on from it.
    Returns what to say. Raises OwareError when the folder is there or the run cannot be read.
    """
    if is_there(folder):
        raise OwareError(f"{folder} is there already: name a new folder")
    checkpoint = newest_checkpoint(run)
    state = read_state(checkpoint)
    about = {name: state[name] for name in (*TOLD, *TOLD_OF_LEARNING)}
    about["machine"] = read_provenance(run)["machine"]
    with said(folder, "cannot be made"):
        folder.parent.mkdir(parents=True, exist_ok=True)
    write_checkpoint(folder, {PLAYS: read_tensors(checkpoint, PLAYS)}, about)
    size = sum(file.stat().st_size for file in folder.iterdir())
    return f"{folder} holds the agent of {run} ({size / 1e6:.1f} MB): play it as {folder}:sims=64"
