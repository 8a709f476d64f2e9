"""Notebooks run from top to bottom, and what they store is what their code gives."""

import re
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

NOTEBOOKS = sorted((Path(__file__).resolve().parents[1] / "notebooks").glob("*.ipynb"))
MEASURED = "measured"  # tag of cells whose numbers depend on processor, torch and time


def code_cells(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def shown(cell):
    """What a cell shows, as {type: content}; text of all its prints together, no warnings."""
    found = {}
    for output in cell.outputs:
        if output.output_type == "stream":
            content = {"printed": output.text} if output.name == "stdout" else {}
        else:  # a widget's view is no text, and another one each time
            content = {k: text for k, text in output.data.items() if isinstance(text, str)}
        for kind, text in content.items():
            found[kind] = found.get(kind, "") + text
    return found


def pictures(notebook):
    kinds = [kind for cell in code_cells(notebook) for kind in shown(cell)]
    return kinds.count("image/svg+xml"), kinds.count("image/png")


@pytest.fixture(params=NOTEBOOKS, ids=lambda path: path.stem)
def stored(request):
    notebook = nbformat.read(request.param, as_version=4)
    nbformat.validate(notebook)
    return notebook


def test_it_runs_and_shows_again_what_is_stored(stored, tmp_path):
    executed = nbformat.from_dict(stored)
    for cell in code_cells(executed):
        cell.outputs, cell.execution_count = [], None
    place = {"metadata": {"path": str(tmp_path)}}
    NotebookClient(executed, timeout=900, kernel_name="python3", resources=place).execute()
    for before, after in zip(code_cells(stored), code_cells(executed), strict=True):
        if MEASURED in before.metadata.get("tags", []):
            assert shown(after).keys() >= shown(before).keys(), before.source
        else:
            assert shown(after) == shown(before), before.source


def test_its_stored_outputs_are_of_one_clean_run(stored):
    cells = code_cells(stored)
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    for cell in cells:
        assert not any(o.output_type == "error" or o.get("name") == "stderr" for o in cell.outputs)
        for kind, text in shown(cell).items():
            if kind != "image/png":
                text = text.replace("http://www.w3.org/2000/svg", "")
                assert not re.search(r"(?<![\w.<])/\w+/|\w:\\", text), (cell.source, kind)


def test_the_first_one_shows_boards_and_plots():
    notebook = nbformat.read(NOTEBOOKS[0], as_version=4)
    boards, plots = pictures(notebook)
    assert boards >= 8
    assert plots == 2
