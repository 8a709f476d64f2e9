"""Look at inputs by hand: ``python -m tests.fuzz KIND NUMBER ...`` shows each and what it does.

``python -m tests.fuzz`` lists the kinds. With ``--range`` it is the process of ``supervisor``.
"""

import importlib
import sys
import tempfile
import warnings
from pathlib import Path

from tests.fuzz.catalogue import TARGETS
from tests.fuzz.engine import dice
from tests.fuzz.samples import Workplace
from tests.fuzz.supervisor import work
from tests.fuzz.target import fuzz

_KINDS = {target.name: target for target in TARGETS}


def main(words: list[str]) -> None:
    """Do what the words say."""
    warnings.simplefilter("error")
    if not words:
        print("\n".join(f"{name}: {target.count:,} inputs" for name, target in _KINDS.items()))
    elif words[0] == "--range":
        where, first, last, folder, *skipped = words[1:]
        module, _, name = where.partition(":")
        target = getattr(importlib.import_module(module), name)
        work(target, range(int(first), int(last)), Path(folder), set(map(int, skipped)))
    else:
        with tempfile.TemporaryDirectory() as folder:
            target = _KINDS[words[0]](Workplace(Path(folder)))
            for number in map(int, words[1:]):
                print(repr(target.make(dice(target.name, number))))
                print(fuzz(target, [number]), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
