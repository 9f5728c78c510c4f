"""Figures of the audit and the fuzzer: kept between runs, and written into README."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.audit.__main__ import State, readme_text
from tests.audit.run import Results, Unit, all_units, run_all
from tests.fuzz.__main__ import Tally
from tests.support.readme import README, duration, write_block


def test_only_the_text_between_the_markers_changes(tmp_path: Path) -> None:
    path = tmp_path / "README.md"
    path.write_text("a\n<!-- x:begin -->\nold\n<!-- x:end -->\nb\n")
    write_block("x", "new", path)
    assert path.read_text() == "a\n<!-- x:begin -->\nnew\n<!-- x:end -->\nb\n"
    with pytest.raises(SystemExit, match="lacks the markers"):
        write_block("y", "new", path)


@pytest.mark.parametrize("name", ["audit", "fuzz", "measured", "lookups"])
def test_readme_has_a_place_for_the_figures(name: str) -> None:
    text = README.read_text(encoding="utf-8")
    assert text.count(f"<!-- {name}:begin -->\n") == text.count(f"\n<!-- {name}:end -->") == 1


def test_fuzzer_goes_on_behind_the_inputs_of_earlier_runs(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    first = Tally(path, 7, is_checked=False)
    first.add(Counter({("footer", "ok"): 3, ("cut", "corrupt"): 4}), 60.0)
    second = Tally(path, None, is_checked=False)
    assert (second.seed, second.total, second.failed) == (7, 7, 0)
    second.add(Counter({("footer", "failed"): 1, ("cut", "corrupt"): 1_000}), 600.0)
    text = second.readme_text()
    assert "1,008 damaged files, 1 crashes" in text and "1,004 ended in `CorruptFileError`" in text
    assert "seed 7, 11 min" in text and "--count 1008 --seed 7 --readme" in text


@pytest.mark.parametrize(("seed", "is_checked"), [(8, False), (7, True)])
def test_fuzzer_does_not_add_to_the_counts_of_another_run(tmp_path: Path, seed: int, is_checked: bool) -> None:
    path = tmp_path / "state.json"
    Tally(path, 7, is_checked=False).add(Counter(), 1.0)
    with pytest.raises(SystemExit, match="another run"):
        Tally(path, seed, is_checked=is_checked)


def test_audit_goes_on_with_the_units_that_are_left(tmp_path: Path) -> None:
    path = tmp_path / "state"
    unit = all_units(3)[0]
    state = State(path)
    state.units[unit] = Results(Counter({("INT32", "eq"): 5}))
    state.write(2.0)
    again = State(path)
    assert again.seconds == 2.0 and again.units == state.units
    assert [left for left in all_units(3) if left not in again.units] == all_units(3)[1:]
    assert unit not in State(None).units and all_units(4)[0] not in again.units


def test_audit_begins_nothing_after_its_time() -> None:
    done: list[Unit] = []
    run_all(all_units(3, 0.01)[:3], 1, note=lambda unit, found: done.append(unit), seconds=-1.0)
    assert done == []


def test_part_of_an_audit_is_not_shown_as_the_whole() -> None:
    results = Results(Counter({("INT32", "eq"): 5_000}))
    whole, part = (readme_text(results, 3, 100.0, 1.0, done, 187) for done in (187, 4))
    assert "5,000 cells, 0 mismatches" in whole and "Not all" not in whole
    assert "Not all of it: 4 of 187 units." in part
    assert "a share of 0.5 of the layouts" in readme_text(results, 3, 100.0, 0.5, 187, 187)


def test_duration_is_in_minutes_from_three_on() -> None:
    assert [duration(seconds) for seconds in (12.4, 179, 180)] == ["12 s", "179 s", "3 min"]
