"""Shared by the compatibility tests: the scripts of docs/how_to as modules."""

import importlib.util
from pathlib import Path

import pytest

HOW_TO = Path(__file__).resolve().parents[2] / "docs" / "how_to"


@pytest.fixture
def how_to():
    """A function: name of a script -> its module, so that tests run what users are told."""

    def load(name):
        specification = importlib.util.spec_from_file_location(name, HOW_TO / f"{name}.py")
        module = importlib.util.module_from_spec(specification)
        specification.loader.exec_module(module)
        return module

    return load
