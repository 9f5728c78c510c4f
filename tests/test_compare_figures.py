"""The comparison's results are kept work by work, and its plot marks what we lose; nothing is measured here."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from xml.etree import ElementTree

import pytest

BENCH = Path(__file__).resolve().parent.parent / "asv_bench"
VERSIONS = {"hardwood_jit": "0.1", "polars": "2.1"}


@pytest.fixture
def bench() -> Iterator[SimpleNamespace]:
    """Modules of asv_bench, which are imported by folder; others may have modules of such names, too."""
    before = set(sys.modules)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(BENCH))
        names = ("results", "rotation", "works", "compare_plot")
        modules: dict[str, ModuleType] = {name: importlib.import_module(name) for name in names}
        yield SimpleNamespace(**modules)
    for name in set(sys.modules) - before:
        if str(getattr(sys.modules[name], "__file__", "")).startswith(str(BENCH)):
            del sys.modules[name]


def conditions(bench: SimpleNamespace, date: str = "2026-01-01", scale: float = 1.0) -> object:
    return bench.results.Conditions("a machine", date, 3, 2, scale)


def measured(bench: SimpleNamespace, ours: float) -> object:
    return bench.rotation.Measured({"hardwood_jit": ours, "polars": 10.0, "pyarrow": 1000.0}, VERSIONS, {}, 7)


def test_second_run_renews_its_works_and_leaves_the_others(bench: SimpleNamespace, tmp_path: Path) -> None:
    path = tmp_path / "figures" / "compare.json"
    first = bench.results.Store.read(path, 1.0)
    first.add("numeric", measured(bench, 8.0), conditions(bench))
    first.add("q6", measured(bench, 20.0), conditions(bench))
    first.note("floor", "a line")
    second = bench.results.Store.read(path, 1.0)
    second.add("q6", measured(bench, 9.0), conditions(bench, "2026-01-02"))
    found = bench.results.Store.read(path)
    assert found.works == {"numeric": measured(bench, 8.0), "q6": measured(bench, 9.0)}
    assert [found.conditions[name].date for name in ("numeric", "q6")] == ["2026-01-01", "2026-01-02"]
    assert found.notes == {"floor": "a line"}
    assert [file.name for file in path.parent.iterdir()] == ["compare.json"]


def test_results_of_a_small_trial_are_not_mixed_with_those_of_a_measurement(
    bench: SimpleNamespace, tmp_path: Path
) -> None:
    bench.results.Store(path=tmp_path / "a.json").add("q6", measured(bench, 1.0), conditions(bench, scale=1.0))
    with pytest.raises(bench.results.OtherScale, match=r"scale 1, not 0\.01"):
        bench.results.Store.read(tmp_path / "a.json", 0.01)


def test_plot_marks_losses_and_names_what_was_measured(bench: SimpleNamespace) -> None:
    store = bench.results.Store()
    store.add("numeric", measured(bench, 5.0), conditions(bench))
    store.add("q6", measured(bench, 20.0), conditions(bench, "2026-01-02"))
    text = bench.compare_plot.plot_svg({"All rows": ["numeric"], "Filtered": ["q6"]}, store)
    ElementTree.fromstring(text)
    verdicts = ("✓ 2.00x faster", "✗ 2.00x slower")
    for said in ("1 of 2 works", "a machine", "2026-01-01 to 2026-01-02", "polars 2.1", *verdicts):
        assert said in text
    assert text.count('class="lostrow"') == 1
    assert "prefers-color-scheme:dark" in text


def test_work_without_a_result_of_ours_is_shown_as_lost(bench: SimpleNamespace) -> None:
    store = bench.results.Store()
    failed = bench.rotation.Measured({"polars": 10.0}, VERSIONS, {"hardwood_jit": "failed"}, 0)
    store.add("q6", failed, conditions(bench))
    text = bench.compare_plot.plot_svg({"Filtered": ["q6"]}, store)
    assert "no result" in text and text.count('class="lostrow"') == 1


def test_recorded_results_are_of_known_works(bench: SimpleNamespace) -> None:
    store = bench.results.Store.read(BENCH / "figures" / "compare.json")
    assert store.works and store.works.keys() <= bench.works.WORKS.keys()
