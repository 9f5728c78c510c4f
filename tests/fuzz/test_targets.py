"""The inputs of coverage-guided runs, and files that such runs or longer ones have found."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

import hardwood_jit as hw
from tests.fuzz.coverage import read_everything, run_targets
from tests.fuzz.targets import ROWS, all_targets

FOUND = sorted((Path(__file__).parent / "found").glob("*"))


@pytest.mark.parametrize("name", all_targets())
def test_honest_inputs_give_readable_files(name: str) -> None:
    target = all_targets()[name]
    file = target.build(target.seeds[0])
    assert hw.scan(file).to_arrow().num_rows == ROWS
    read_everything(file)


@pytest.mark.parametrize("name", all_targets())
def test_cut_inputs_end_in_errors_of_ours_or_rows(name: str) -> None:
    target = all_targets()[name]
    honest = target.seeds[0]
    for end in range(0, len(honest), max(len(honest) // 8, 1)):
        read_everything(target.build(honest[:end]))
        read_everything(target.build(honest[:end] + b"\xff" * (len(honest) - end)))


def test_without_atheris_the_command_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert run_targets(0.1, 1, None) == 2
    assert "pip install atheris" in capsys.readouterr().err


def test_found_files_are_read_or_refused() -> None:
    for file in FOUND:
        read_everything(file.read_bytes())
