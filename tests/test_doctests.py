"""The examples in docstrings run, and every public name has one."""

from __future__ import annotations

import doctest
import functools
import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hardwood_jit as hw
from hardwood_jit.jit import kernel_cache

# What users hold in their hands: each public method and property of these has an example of its own.
HELD = [hw.Dataset, hw.Scan, hw.Batch, hw.Column, hw.Validity, hw.Layer, hw.Row, type(hw.kernel_cache)]


def examples_of(finder: doctest.DocTestFinder, thing: object, name: str) -> Iterator[doctest.DocTest]:
    """What the finder finds, and the cached properties that it overlooks before Python 3.13."""
    found = {test.name: test for test in finder.find(thing, name, globs={})}
    for class_name, class_ in inspect.getmembers(thing, inspect.isclass):
        if class_.__module__ != name:
            continue
        for attribute, value in vars(class_).items():
            if isinstance(value, functools.cached_property):
                whole = f"{name}.{class_name}.{attribute}"
                found |= {test.name: test for test in finder.find(value, whole, globs={})}
    yield from found.values()


def collect() -> dict[str, doctest.DocTest]:
    """Name -> docstring with examples, over all modules but the kernels, which have none to show to users."""
    finder = doctest.DocTestFinder(exclude_empty=True)
    names = ["hardwood_jit"]
    names += [
        module.name
        for module in pkgutil.walk_packages(hw.__path__, "hardwood_jit.")
        if not module.name.startswith("hardwood_jit.kernels")
    ]
    tests = (test for name in names for test in examples_of(finder, importlib.import_module(name), name))
    return {test.name: test for test in tests if test.examples}


EXAMPLES = collect()


@pytest.fixture(scope="session")
def trips(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Six rows in two row groups: a number, text beyond ASCII, a number with nulls, a list of text."""
    path = tmp_path_factory.mktemp("doctests") / "trips.parquet"
    table = pa.table(
        {
            "id": pa.array([1, 2, 3, 4, 5, 6], pa.int64()),
            "city": ["Aachen", "Bergen", "Córdoba", "Delft", "Évora", "Fürth"],
            "fare": pa.array([12.5, None, 7.25, 30.0, None, 18.0], pa.float64()),
            "tags": pa.array([["new"], [], None, ["night", "airport"], ["new"], []], pa.list_(pa.string())),
        }
    )
    pq.write_table(table, path, row_group_size=3)
    return path


@pytest.fixture
def cache_of_its_own(tmp_path: Path) -> Iterator[None]:
    """Kernels are kept elsewhere meanwhile: an example that clears the cache must not clear the machine's."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HARDWOOD_JIT_CACHE_DIR", str(tmp_path / "kernels"))
        kernel_cache.connect()
        yield
    kernel_cache.connect()


def run(test: doctest.DocTest, trips: Path) -> None:
    test.globs = {"hw": hw, "trips": trips}
    report: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS, verbose=False)
    assert runner.run(test, out=report.append).failed == 0, "".join(report)


@pytest.mark.parametrize("name", sorted(name for name in EXAMPLES if not name.endswith("KernelCache.clear")))
def test_example_gives_what_it_shows(name: str, trips: Path) -> None:
    run(EXAMPLES[name], trips)


@pytest.mark.usefixtures("cache_of_its_own")
def test_example_of_clearing_the_cache_gives_what_it_shows(trips: Path) -> None:
    run(EXAMPLES["hardwood_jit.warming.KernelCache.clear"], trips)


def full_name(thing: object) -> str:
    named = thing if inspect.isclass(thing) or inspect.isfunction(thing) else type(thing)
    return f"{named.__module__}.{named.__qualname__}"


@pytest.mark.parametrize("name", hw.__all__)
def test_public_name_has_an_example(name: str) -> None:
    assert full_name(getattr(hw, name)) in EXAMPLES


@pytest.mark.parametrize("held", HELD, ids=lambda held: held.__name__)
def test_public_methods_and_properties_have_an_example(held: type) -> None:
    shown = (property, functools.cached_property)
    public = [
        name
        for name, value in vars(held).items()
        if not name.startswith("_") and (inspect.isfunction(value) or isinstance(value, shown))
    ]
    assert [name for name in public if f"{full_name(held)}.{name}" not in EXAMPLES] == []
