"""``oware-compare``: did an idea help? Two configurations, trained and measured side by side.

Both are trained for the same minutes with the same seeds, in turns, so that a machine that becomes
slower does so for both. Then, seed by seed, they play each other and a fixed ladder, and their
moves are graded against perfect endgames. What is printed is B minus A with a 95 % interval over
seeds. Everything is kept in the output folder; an interrupted comparison goes on there.
"""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from agents.console import run_command
from agents.settings import parse_command, places_of_words
from oware_env.errors import OwareError
from oware_env.files import Lock, is_there, read_text, said, write_whole
from train.algorithms import algorithm_of
from train.arms import Arm, CompareSettings, read_arms, train_arm

DESCRIPTION = """Train two configurations for equally long and say whether B is better than A.

oware-compare configs/alphazero-quick.toml my-idea.toml --seeds 3 --minutes 5"""


def main() -> None:
    """Entry point of the command."""
    sys.exit(run_command(compare))


def compare(arguments: Sequence[str]) -> None:
    """Read the command line, train what is missing, measure, and print the result."""
    files, rest = split_files(arguments)
    settings = parse_command(CompareSettings, rest, description=DESCRIPTION).settings
    arms = read_arms(files, settings)
    folder = Path(settings.output or f"runs/compare-{arms[0].name}-{arms[1].name}")
    _prepare(arms, settings)
    with _claimed(folder, arms):
        for seed in range(settings.first_seed, settings.first_seed + settings.seeds):
            for arm in arms if seed % 2 == 0 else arms[::-1]:  # neither is always the first
                train_arm(arm, seed, folder)
        from train.compare_report import measure, text_report, write_results

        results = measure(arms, settings, folder)
        write_results(folder, arms, settings, results)
    print(text_report(arms, settings, results))
    print(f"Runs, games and figures are in {folder}: results.json, A-0, B-0, ...")


def split_files(arguments: Sequence[str]) -> tuple[list[Path], list[str]]:
    """The two configuration files of a command line, and the other words. Raises OwareError."""
    wants_help = {"-h", "--help"} & set(arguments)
    places = places_of_words(CompareSettings, arguments)
    files = [place for place in places if arguments[place].endswith(".toml")]
    if len(files) != 2 and not wants_help:
        raise OwareError(f"give two configuration files to compare, not {len(files)}")
    rest = [word for place, word in enumerate(arguments) if place not in files]
    return [Path(arguments[place]) for place in files], rest


def _prepare(arms: Sequence[Arm], settings: CompareSettings) -> None:
    """Refuse before training what would come to light after it; compile outside of the minutes."""
    from agents.neural.evaluator import check_device
    from agents.roster import make
    from agents.tablebase.probe import open_table
    from train.compilation import compile_kernels

    for opponent in settings.ladder:
        make(opponent, arms[0].config.rules)
    open_table(settings.table)
    for arm in arms:
        check_device(arm.config.device)
        algorithm_of(arm.config)(arm.config)  # refuses a table of endgames that is not there
    for arm in arms:
        compile_kernels(algorithm_of(arm.config), arm.config)


@contextmanager
def _claimed(folder: Path, arms: Sequence[Arm]) -> Iterator[None]:
    """Write what the folder is for, or check that it is for the same; no other process may then."""
    from train.run import config_text

    with said(folder, "cannot be written"):
        folder.mkdir(parents=True, exist_ok=True)
    with Lock(folder, "comparison"):
        texts = {f"{arm.label}.toml": config_text(arm.config) for arm in arms}
        for name, text in texts.items():
            if is_there(folder / name) and read_text(folder / name) != text:
                raise OwareError(
                    f"{folder} holds another comparison, {name} differs: give another --output"
                )
        for name, text in texts.items():
            write_whole(folder / name, text)
        yield


if __name__ == "__main__":
    main()
