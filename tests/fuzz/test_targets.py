"""The inputs of coverage-guided runs, and files that such runs or longer ones have found."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

import hardwood_jit as hw
from tests.fuzz.coverage import read_everything, run_targets
from tests.fuzz.runner import REPOSITORY
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


def test_files_are_read_and_filtered_by_kernels_that_are_not_compiled() -> None:
    code = """
from tests.fuzz.coverage import read_everything
from tests.fuzz.targets import all_targets
from tests.fuzz.worker import prepare
import hardwood_jit as hw
from hardwood_jit.jit.group_kernel import GroupKernel
prepare()
taken = []
take = GroupKernel.take
GroupKernel.take = lambda *arguments: taken.append(take(*arguments)) or taken[-1]
for name, target in all_targets().items():
    file = target.build(target.seeds[0])
    read_everything(file)
    x = hw.open(file).schema.leaves[0].path
    column = hw.col(x).any() if "levels" in name else hw.col(x)
    assert hw.scan(file).filter(column.is_not_null()).threads(1).to_arrow().num_rows > 0, name
assert sum(columns is not None for columns in taken) > 5, taken
"""
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": str(REPOSITORY)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("file", FOUND, ids=lambda file: file.name)
def test_found_files_are_read_or_refused(file: Path) -> None:
    """Each of them once ended in something else."""
    read_everything(file.read_bytes())
