"""What the documents say holds: code runs, links lead somewhere, commands exist."""

import ast
import doctest
import re
import runpy
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
BLOCK = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```\s*$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]\n]*\]\(([^)\s]+)\)")
SPAN = re.compile(r"`([^`\n]+)`")


def blocks(text, *languages):
    """(line number, code) of every fenced block in one of the languages."""
    found = (match for match in BLOCK.finditer(text) if match[1] in languages)
    return [(text.count("\n", 0, match.start(2)) + 1, match[2]) for match in found]


def run_document(text, name, folder):
    """Run all Python blocks of a document in one namespace; those with prompts by doctest."""
    namespace = {"__name__": name}
    for line, code in blocks(text, "python"):
        if ">>>" in code:
            run_prompts(code, namespace, name, line)
        else:
            # A file of its own, with the document's line numbers: kernels are cached beside files.
            path = folder / f"{name}_{line}.py"
            path.write_text("\n" * (line - 1) + code)
            exec(compile(path.read_text(), str(path), "exec"), namespace)


def run_prompts(code, namespace, name, line):
    test = doctest.DocTestParser().get_doctest(code, namespace, name, name, line - 1)
    said = []
    runner = doctest.DocTestRunner(verbose=False)
    result = runner.run(test, out=said.append, clear_globs=False)
    namespace.update(test.globs)
    assert result.failed == 0, "".join(said)


def commands(text):
    """Everything in code that a reader would type: ``make X``, ``oware-x``."""
    code = SPAN.findall(BLOCK.sub("", text))
    code += [block for _, block in blocks(text, "sh", "bash", "console", "text", "")]
    joined = "\n".join(code)
    targets = set(re.findall(r"\bmake ([a-z][a-z-]*)", joined))
    scripts = set(re.findall(r"(?<![\w/.-])(oware-(?!v\d|env)[a-z]+)", joined))
    return targets, scripts


def headings(text):
    """The anchors of a document's headings."""
    lines = re.findall(r"^#+ (.*)$", BLOCK.sub("", text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", line.lower()).strip().replace(" ", "-") for line in lines}


def broken_links(document):
    """The relative links of a document that lead to no file, or to no heading of it."""
    text = document.read_text()
    broken = []
    for link in LINK.findall(BLOCK.sub("", text)):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = document.parent / path if path else document
        if not target.exists() or (anchor and anchor not in headings(target.read_text())):
            broken.append(link)
    return broken


def in_docs(document):
    return str(document.relative_to(ROOT))


@pytest.mark.parametrize("document", DOCUMENTS, ids=in_docs)
def test_the_code_of_a_document_runs_and_prints_what_it_says(document, tmp_path, monkeypatch):
    from agents import roster

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(roster, "ROSTER", dict(roster.ROSTER))  # a guide adds an agent
    run_document(document.read_text(), document.stem, tmp_path)


@pytest.mark.parametrize("document", DOCUMENTS, ids=in_docs)
def test_every_relative_link_leads_to_a_file_and_heading(document):
    assert broken_links(document) == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=in_docs)
def test_every_command_that_a_document_names_exists(document):
    known_targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    targets, scripts = commands(document.read_text())
    assert targets <= known_targets
    assert scripts <= set(project["scripts"])


def test_the_guides_are_there_and_hold_code():
    for name, least in (("rules", 20), ("add_an_agent", 3), ("environment", 3)):
        assert len(blocks((ROOT / "docs" / f"{name}.md").read_text(), "python")) >= least, name


def test_a_wrong_result_in_a_document_is_found(tmp_path):
    right = "```python\n>>> 1 + 1\n2\n\n```\n```python\nassert 1 + 1 == 2\n```\n"
    run_document(right, "right", tmp_path)
    with pytest.raises(AssertionError, match="Expected"):
        run_document(right.replace("\n2\n", "\n3\n"), "wrong", tmp_path)
    with pytest.raises(AssertionError):
        run_document(right.replace("== 2", "== 3"), "wrong", tmp_path)


def test_a_broken_link_and_an_unknown_command_are_found(tmp_path):
    document = tmp_path / "a.md"
    document.write_text("# One\n[here](a.md) [top](#one) [gone](b.md) [lost](a.md#two)\n")
    assert broken_links(document) == ["b.md", "a.md#two"]
    text = "Run `make tea` and\n```sh\noware-brew --now\n```\nto make sure of oware-v0."
    assert commands(text) == ({"tea"}, {"oware-brew"})


def test_every_module_says_what_it_is_for():
    for package in ("oware_env", "agents", "train", "benchmarks"):
        for path in sorted((ROOT / package).rglob("*.py")):
            text = ast.get_docstring(ast.parse(path.read_text()))
            assert text, f"{path.relative_to(ROOT)} has no docstring"


def test_the_pictures_of_the_rules_are_drawn_by_this_version():
    draw_rules = runpy.run_path(str(ROOT / "docs/pictures/draw_rules.py"))
    for name in draw_rules["PICTURES"]:
        drawn = draw_rules["draw"](name) + "\n"
        assert (ROOT / f"docs/pictures/rules-{name}.svg").read_text(encoding="utf-8") == drawn, (
            "run docs/pictures/draw_rules.py"
        )


def test_both_pages_of_the_rules_run_the_same_examples_and_show_the_same_pictures():
    pages = [
        (ROOT / "docs" / name).read_text(encoding="utf-8") for name in ("rules.md", "rules.zh.md")
    ]
    codes = [[re.sub(r"\s+#.*", "", code) for _, code in blocks(page, "python")] for page in pages]
    pictures = [re.findall(r"\((pictures/[^)]*)\)", page) for page in pages]
    assert codes[0] == codes[1] and pictures[0] == pictures[1] and len(pictures[0]) == 5
