"""No damage to a file ends in a crash, a hang, a wrong kind of error or a malformed result."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.fuzz.mutate import KINDS, load_sources, rewrite
from tests.fuzz.runner import Turns, in_turn, run_cases
from tests.fuzz.worker import run_case
from tests.support import naive
from tests.support.corpus import corpus_root

SEED = 20260101
CASES = dict.fromkeys(KINDS, 5100) | {"cut": 1000}  # at least 20 000, a quarter of them of each kind


def test_rewritten_files_hold_the_same_values() -> None:
    for source in load_sources():
        if source.plain is None or len(source.original.data) > 100_000:
            continue
        before = naive.decode(source.original.data)
        for form in (source.plain, source.checked, rewrite(source.original.data, uncompressed=False)):
            assert form is not None
            after = naive.decode(form.data)
            for index in range(len(before.leaves)):
                assert naive.same(before.entries(index), after.entries(index)), source.name


def test_honest_files_pass_the_checks_of_damaged_ones() -> None:
    for source in load_sources():
        if source.plain is None or source.checked is None:
            continue
        for form in (source.plain, source.checked, *([source.original] if source.checksums else [])):
            for number in (0, 7, 20):  # two threads and every terminal; one thread; one thread and every terminal
                outcome = run_case(form.data, number, False, None)
                assert outcome in ("ok", "unsupported"), f"{source.name}: {outcome}"


def test_twenty_thousand_mutations_neither_crash_nor_hang(tmp_path: Path) -> None:
    corpus_root()
    found = run_cases(load_sources(), Turns(in_turn(CASES)), SEED, tmp_path)
    outcomes, failures = found.counts, found.failures
    for kind in KINDS:
        print(kind, {what: count for (where, what), count in sorted(outcomes.items()) if where == kind})
    if failures:
        pytest.fail(f"{len(failures)} failures\n" + "\n".join(map(str, failures)))
    total = Counter[str]()
    for (kind, _), count in outcomes.items():
        total[kind] += count
    assert total == Counter(CASES)
    assert sum(total.values()) >= 20_000
    # The mutations do something: every kind leaves some files readable and breaks others.
    for kind in KINDS:
        assert outcomes[kind, "corrupt"] > 0
        assert outcomes[kind, "ok"] > 0
