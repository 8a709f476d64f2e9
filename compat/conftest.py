"""Shared by the tests of libraries that need an environment of their own (see README.md)."""

import importlib.util
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
import torch

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session", autouse=True)
def one_thread() -> None:
    """One busy core: two threads of torch on two cores are slower than one."""
    torch.set_num_threads(1)


@pytest.fixture(scope="session")
def how_to() -> Callable[[str], ModuleType]:
    """A function from the name of a script in docs/how_to to the script as a module."""

    def load(name: str) -> ModuleType:
        path = ROOT / "docs" / "how_to" / f"{name}.py"
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    return load


@pytest.fixture
def run_script(tmp_path: Path) -> Callable[..., str]:
    """A function that runs a script as a reader would, at home in ``tmp_path``; what it prints."""

    def run(name: str, *options: str) -> str:
        command = [sys.executable, f"docs/how_to/{name}.py", *options]
        home = {**os.environ, "HOME": str(tmp_path)}
        done = subprocess.run(
            command, cwd=ROOT, env=home, capture_output=True, text=True, timeout=300
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run
