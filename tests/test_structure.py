"""The budgets and laws of the code base that a script can check."""

import ast
import re
from pathlib import Path

import pytest

from oware_env.kernel import kernel_files

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("oware_env", "agents", "train")
FILE_LINES, TEST_FILE_LINES, FUNCTION_LINES, PARAMETERS = 600, 800, 50, 5
VAGUE_NAMES = {"utils", "util", "helpers", "helper", "manager", "managers", "common", "misc"}

SOURCES = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))
TESTS = sorted((ROOT / "tests").rglob("*.py"))


def name_of(path):
    return str(path.relative_to(ROOT))


def each(paths):
    return pytest.mark.parametrize("path", paths, ids=name_of)


def tree_of(path):
    return ast.parse(path.read_text(), str(path))


def is_kernel(function):
    """Whether it is marked ``@kernel`` or ``@kernel(...)``."""
    marks = (getattr(mark, "func", mark) for mark in function.decorator_list)
    return any(isinstance(mark, ast.Name) and mark.id == "kernel" for mark in marks)


FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef)


def functions_of(tree):
    return [node for node in ast.walk(tree) if isinstance(node, FUNCTION)]


def public_parts(tree):
    """Public classes and functions of a module, and the public methods of its public classes."""
    for node in tree.body:
        if isinstance(node, (*FUNCTION, ast.ClassDef)) and not node.name.startswith("_"):
            yield node
            if isinstance(node, ast.ClassDef):
                yield from public_parts(node)


def parameters_of(function):
    given = function.args
    return [*given.posonlyargs, *given.args, *given.kwonlyargs]


def is_method(function):
    names = [parameter.arg for parameter in parameters_of(function)]
    return bool(names) and names[0] in ("self", "cls")


def test_there_is_something_to_check():
    assert len(SOURCES) > 20 and len(TESTS) > 10


@each(SOURCES)
def test_a_source_file_keeps_to_its_length(path):
    assert len(path.read_text().splitlines()) <= FILE_LINES


@each(TESTS)
def test_a_test_file_keeps_to_its_length(path):
    assert len(path.read_text().splitlines()) <= TEST_FILE_LINES


@each(SOURCES + TESTS)
def test_a_function_keeps_to_its_length(path):
    long = {
        function.name: function.end_lineno - function.lineno + 1
        for function in functions_of(tree_of(path))
        if function.end_lineno - function.lineno + 1 > FUNCTION_LINES
    }
    assert not long


def environment_constructors(tree):
    """Constructors of Gymnasium environments: their lists of settings are the public API."""
    for node in ast.walk(tree):
        bases = [ast.unparse(base) for base in getattr(node, "bases", [])]
        if any(base.startswith("gymnasium.") for base in bases):
            yield from (part for part in node.body if getattr(part, "name", "") == "__init__")


@each(SOURCES)
def test_a_function_takes_few_parameters(path):
    # Kernels are spared too: arrays and plain ints are all they can take.
    tree = tree_of(path)
    spared = set(environment_constructors(tree))
    many = {
        function.name: len(parameters_of(function)) - is_method(function)
        for function in functions_of(tree)
        if not is_kernel(function) and function not in spared
    }
    assert not {name: count for name, count in many.items() if count > PARAMETERS}


@each(SOURCES)
def test_a_module_is_named_after_what_it_holds(path):
    assert path.stem not in VAGUE_NAMES and path.parent.name not in VAGUE_NAMES


@each(SOURCES)
def test_a_module_says_what_it_is(path):
    assert ast.get_docstring(tree_of(path)) or not path.read_text().strip()


@each(SOURCES)
def test_a_public_thing_says_what_it_is(path):
    silent = [node.name for node in public_parts(tree_of(path)) if not ast.get_docstring(node)]
    assert not silent


@each(SOURCES)
def test_a_public_function_is_fully_annotated(path):
    bare = []
    for function in public_parts(tree_of(path)):
        if not isinstance(function, FUNCTION) or is_kernel(function):
            continue
        parameters = parameters_of(function)[is_method(function) :]
        if function.returns is None or any(
            parameter.annotation is None for parameter in parameters
        ):
            bare.append(function.name)
    assert not bare


def names_in(class_node):
    return [base.id for base in class_node.bases if isinstance(base, ast.Name)]


@each(SOURCES)
def test_a_class_inherits_at_most_one_level_of_the_project(path):
    classes = {
        node.name: node for node in ast.walk(tree_of(path)) if isinstance(node, ast.ClassDef)
    }
    for node in classes.values():
        bases = [
            base.id for base in node.bases if isinstance(base, ast.Name) and base.id in classes
        ]
        assert len(bases) <= 1
        assert all(not set(names_in(classes[base])) & set(classes) for base in bases)


@each(SOURCES)
def test_numba_is_used_through_the_kernel_decorator_alone(path):
    if path.name == "kernel.py" and path.parent.name == "oware_env":
        return
    assert not re.search(
        r"\bnjit\b|numba\.jit|\bprange\b|from numba import .*\bjit\b", path.read_text()
    )


# The cache of compiled kernels is keyed by the files that hold a kernel (oware_env/kernel.py).
# So everything a kernel takes from the project, at any remove, must stand in such a file.


def module_path(root, module):
    path = root.joinpath(*module.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def project_imports(root, tree):
    """{local name: file it comes from} of everything a module imports from the project."""
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in PACKAGES:
            for alias in node.names:
                submodule = module_path(root, f"{node.module}.{alias.name}")
                source = submodule if submodule.exists() else module_path(root, node.module)
                found[alias.asname or alias.name] = source
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.split(".")[0] in PACKAGES:
                    local = alias.asname or alias.name.split(".")[0]
                    found[local] = module_path(root, alias.name)
    return found


def assigned_names(node):
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    return {
        part.id for target in targets for part in ast.walk(target) if isinstance(part, ast.Name)
    }


def names_used(node):
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}


def definitions(tree):
    """{name: nodes} that give a module-level name its value."""
    found = {}
    for node in tree.body:
        if isinstance(node, (ast.Assign, ast.AnnAssign)):
            for name in assigned_names(node):
                found.setdefault(name, []).append(node)
        elif isinstance(node, (*FUNCTION, ast.ClassDef)):
            found.setdefault(node.name, []).append(node)
    return found


def uncovered(root, path):
    """What the kernels of a file take from project files that the cache key does not cover."""
    tree = ast.parse(path.read_text(), str(path))
    imported, defined = project_imports(root, tree), definitions(tree)
    waiting = [node for node in functions_of(tree) if is_kernel(node)]
    seen, wrong = set(), set()
    while waiting:
        for name in names_used(waiting.pop()) - seen - {"kernel"}:
            seen.add(name)
            waiting.extend(defined.get(name, []))
            if name in imported and imported[name] not in kernel_files(root):
                wrong.add(name)
    return sorted(wrong)


@each(SOURCES)
def test_the_cache_key_covers_all_that_a_kernel_uses(path):
    assert uncovered(ROOT, path) == []


def test_a_kernel_that_uses_a_plain_file_is_found_out(tmp_path):
    package = tmp_path / "agents"
    package.mkdir()
    (package / "plain.py").write_text("SIZE = 3\nLIMIT = 4\nOTHER = 5\n")
    (package / "loops.py").write_text(
        "from agents import plain\n"
        "from agents.plain import LIMIT, OTHER as other, SIZE\n"
        "DOUBLE = 2 * SIZE\n"
        "@kernel\n"
        "def direct(board, most=LIMIT): return plain.SIZE\n"
        "@kernel\n"
        "def indirect(board): return DOUBLE\n"
        "def python(): return other\n"
    )
    assert uncovered(tmp_path, package / "loops.py") == ["LIMIT", "SIZE", "plain"]
