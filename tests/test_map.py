"""The module map stays true: who may import whom, what is public, what is packaged, who may know numba."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import hardwood_jit

REPOSITORY = Path(__file__).resolve().parents[1]
PACKAGE = REPOSITORY / "hardwood_jit"
KERNELS = REPOSITORY / "kernels"

# Data moves down this list: a module imports from modules above it, and from its own folder. A folder is one entry.
# `batch` stands above `jit`, because a decoder's product is a Column.
ORDER = [
    "kernels.status",
    "kernels.slices",
    "kernels.tables",
    "physical",
    "errors",
    "options",
    "progress",
    "source",
    "remote",
    "metadata",
    "plan",
    "memory",
    "pages",
    "batch",
    "partitions",
    "kernels",
    "jit",
    "types",
    "nesting",
    "metrics",
    "header_proofs",
    "page_map",
    "group_index",
    "group_columns",
    "probe",
    "group_scan",
    "group_state",
    "survivor_columns",
    "cascade",
    "whole_group",
    "joined_groups",
    "many_files",
    "row_limits",
    "lookup_group",
    "scan_tasks",
    "shares",
    "scanner",
    "explain_text",
    "explain",
    "rows",
    "export",
    "lazy_scan",
    "dataset",
    "warming",
    "spark",
    "__init__",
    "demo",
    "cli",
]

# API.md, plus the classes that those calls hand out.
PUBLIC = {
    "open",
    "scan",
    "read",
    "warm",
    "footer_cache",
    "kernel_cache",
    "col",
    "parse",
    "Predicate",
    "Dataset",
    "Scan",
    "Batch",
    "Column",
    "Layer",
    "Validity",
    "NO_NULLS",
    "Row",
    "Interval",
    "HardwoodError",
    "CorruptFileError",
    "UnsupportedError",
    "MissingDependencyError",
    "PredicateError",
    "ColumnNotFoundError",
    "SchemaMismatchError",
}


def modules() -> dict[str, Path]:
    """Dotted name below hardwood_jit -> file; kernels/ counts as hardwood_jit.kernels."""
    found = {}
    for path in PACKAGE.rglob("*.py"):
        found[".".join(path.relative_to(PACKAGE).with_suffix("").parts)] = path
    for path in KERNELS.glob("*.py"):
        found[f"kernels.{path.stem}"] = path
    return found


def entry(module: str) -> str:
    """The line of ORDER that a module belongs to."""
    if module in ORDER:
        return module
    return module.split(".")[0]


def imports(path: Path) -> list[tuple[int, str]]:
    """(line, absolute name) of what importing a module imports; functions and TYPE_CHECKING blocks do not count."""
    found: list[tuple[int, str]] = []
    names = set(modules())

    def visit(body: list[ast.stmt]) -> None:
        for node in body:
            if isinstance(node, ast.Import):
                found.extend((node.lineno, alias.name) for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                base = node.module or ""
                if node.level:
                    prefix = (
                        "hardwood_jit.kernels"
                        if path.parent == KERNELS
                        else ".".join(("hardwood_jit", *path.parent.relative_to(PACKAGE).parts))
                    )
                    base = f"{prefix}.{base}" if base else prefix
                for alias in node.names:
                    whole = f"{base}.{alias.name}"
                    known = whole.removeprefix("hardwood_jit.")
                    found.append((node.lineno, whole if known in names or f"{known}.__init__" in names else base))
            elif isinstance(node, ast.If) and "TYPE_CHECKING" not in ast.unparse(node.test):
                visit(node.body)
                visit(node.orelse)
            elif isinstance(node, (ast.Try, ast.ClassDef)):
                visit(node.body)

    visit(ast.parse(path.read_text()).body)
    return found


def test_every_module_has_a_place_in_the_map() -> None:
    assert {entry(name) for name in modules()} <= set(ORDER)


@pytest.mark.parametrize("name", sorted(modules()))
def test_module_imports_only_from_above_and_from_its_own_folder(name: str) -> None:
    own = ORDER.index(entry(name))
    folder = name.split(".")[0] if "." in name else None
    for line, target in imports(modules()[name]):
        if target == "hardwood_jit":
            assert entry(name) in ("demo", "cli", "spark"), f"{name}:{line} imports the package itself"
        elif target.startswith("hardwood_jit."):
            inner = target.removeprefix("hardwood_jit.")
            if folder is not None and inner.split(".")[0] == folder:
                continue
            assert ORDER.index(entry(inner)) < own, f"{name}:{line} imports {target}, which stands below it"


@pytest.mark.parametrize("name", sorted(name for name in modules() if name.startswith("kernels.")))
def test_kernels_import_numba_numpy_and_their_siblings_only(name: str) -> None:
    standard = set(sys.stdlib_module_names)
    for line, target in imports(modules()[name]):
        head = target.split(".")[0]
        fits = head in ("numba", "numpy", "llvmlite") or target.startswith("hardwood_jit.kernels") or head in standard
        assert fits, f"{name}:{line} imports {target}"


def test_numba_is_imported_by_kernels_and_the_jit_folder_only() -> None:
    for name, path in modules().items():
        if entry(name) == "jit" or name.startswith("kernels."):
            continue
        assert not [target for _, target in imports(path) if target.split(".")[0] in ("numba", "llvmlite")], name


@pytest.mark.parametrize("name", ["kernels.status", "kernels.slices", "kernels.tables"])
def test_constants_of_kernels_need_no_numba(name: str) -> None:
    assert [target for _, target in imports(modules()[name]) if not target.startswith("__future__")] == []


def loaded_after(statement: str, cwd: Path) -> set[str]:
    code = f"{statement}\nimport sys\nprint('\\n'.join(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=cwd, check=True, timeout=120
    )
    return set(done.stdout.split())


@pytest.mark.parametrize("folder", ["metadata", "plan"])
def test_metadata_and_planner_import_no_numba(folder: str, tmp_path: Path) -> None:
    names = [
        f"hardwood_jit.{name}" for name in modules() if name.startswith(f"{folder}.") and not name.endswith("__init__")
    ]
    loaded = loaded_after("; ".join(f"import {name}" for name in names), tmp_path)
    assert set(names) <= loaded
    assert not {"numba", "llvmlite", "pyarrow", "pandas"} & loaded


def test_importing_the_package_loads_neither_numba_nor_optional_packages(tmp_path: Path) -> None:
    loaded = loaded_after("import hardwood_jit", tmp_path)
    assert not {"numba", "llvmlite", "pyarrow", "pandas", "pyspark", "fsspec"} & loaded


def test_kernels_have_no_import_name_of_their_own(tmp_path: Path) -> None:
    # The tests of Spark put the repository on the path of their workers.
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [sys.executable, "-c", "import kernels"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=clean,
        check=False,
        timeout=60,
    )
    assert done.returncode != 0
    assert "ModuleNotFoundError" in done.stderr


def test_public_names_are_exactly_those_of_the_api() -> None:
    assert set(hardwood_jit.__all__) == PUBLIC
    assert len(hardwood_jit.__all__) == len(PUBLIC)
    for name in PUBLIC:
        thing = getattr(hardwood_jit, name)
        if callable(thing):
            assert thing.__doc__, f"{name} has no docstring"


def test_star_import_gives_the_public_names(tmp_path: Path) -> None:
    code = "from hardwood_jit import *; print(sorted(name for name in globals() if not name.startswith('__')))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, check=True, timeout=60
    )
    assert done.stdout.strip() == str(sorted(PUBLIC))


def test_every_folder_is_packaged() -> None:
    tool = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["tool"]["setuptools"]
    folders = {"hardwood_jit", "hardwood_jit.kernels"}
    for path in PACKAGE.rglob("*.py"):
        folders.add(".".join(("hardwood_jit", *path.parent.relative_to(PACKAGE).parts)))
    assert set(tool["packages"]) == folders
    assert tool["package-dir"]["hardwood_jit.kernels"] == "kernels"
    for folder in folders - {"hardwood_jit.kernels"}:
        assert (REPOSITORY / folder.replace(".", "/") / "__init__.py").is_file()


def test_no_module_is_called_utils() -> None:
    assert not [name for name in modules() if name.split(".")[-1] in ("utils", "util", "helpers", "common")]


def test_every_module_says_what_it_is() -> None:
    for name, path in modules().items():
        assert ast.get_docstring(ast.parse(path.read_text())), f"{name} has no docstring"
