"""Compiled kernels on disk: loaded by the next process, raced for, damaged, refused, and removed."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest
from hardwood_jit.kernels import compiled

from hardwood_jit.jit import kernel_cache
from hardwood_jit.options import cache_root

# The smallest kernel there is: compiled in a fraction of a second.
USE = """
import json, sys, warnings
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    import numpy as np
    from hardwood_jit.jit import kernel_cache
    from hardwood_jit.kernels.compiled import FOLDER
    count = kernel_cache.load("levels.count_record_starts")
    levels = np.array([0, 1, 0], np.uint8)
    assert count(levels, 3) == 2
    {more}
runtime = [str(one.message) for one in caught if one.category is RuntimeWarning]
print(json.dumps(dict(loaded=FOLDER.loaded, compiled=FOLDER.compiled, path=FOLDER.path, warned=runtime)))
"""


def command(more: str = "pass") -> list[str]:
    return [sys.executable, "-c", USE.replace("{more}", textwrap.indent(textwrap.dedent(more), "    ").strip())]


def environment(folder: Path | str | None, **changes: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("HARDWOOD", "NUMBA", "XDG"))}
    return {**kept, **({} if folder is None else {"HARDWOOD_JIT_CACHE_DIR": str(folder)}), **changes}


def use(folder: Path | str | None, more: str = "pass", **changes: str) -> dict[str, Any]:
    done = subprocess.run(command(more), env=environment(folder, **changes), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return {**json.loads(done.stdout), "stderr": done.stderr}


def entries(folder: Path) -> list[Path]:
    return sorted(folder.glob("*/*.nbc"))


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache folder that one process has filled."""
    folder = tmp_path_factory.mktemp("cache")
    folder.chmod(0o700)
    first = use(folder)
    assert first["loaded"] == 0
    assert first["compiled"] == len(entries(folder)) > 0
    assert first["stderr"].count("for the first time") == 1
    assert str(folder) in first["stderr"]
    return folder


def copy(filled: Path, tmp_path: Path) -> Path:
    folder = tmp_path / "copy"
    shutil.copytree(filled, folder)
    folder.chmod(0o700)
    return folder


def test_second_process_loads_from_disk_and_compiles_nothing(filled: Path) -> None:
    second = use(filled)
    assert second["compiled"] == 0
    assert second["loaded"] > 0
    assert second["stderr"] == ""


def test_cache_folder_may_be_moved(filled: Path, tmp_path: Path) -> None:
    assert use(copy(filled, tmp_path))["compiled"] == 0


def test_folder_is_the_users_own_and_holds_nothing_but_kernels(filled: Path) -> None:
    (folder,) = filled.iterdir()
    assert folder.stat().st_mode & 0o777 == 0o700
    assert {file.suffix for file in folder.iterdir()} == {".nbc"}


def test_two_processes_race_on_an_empty_cache_and_both_succeed(tmp_path: Path) -> None:
    racers = [
        subprocess.Popen(
            command(), env=environment(tmp_path), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        for _ in range(2)
    ]
    for racer in racers:
        out, error = racer.communicate()
        assert racer.returncode == 0, error
        assert json.loads(out)["warned"] == []
    assert use(tmp_path)["compiled"] == 0


@pytest.mark.parametrize("damage", ["empty", "cut", "text", "another pickle", "folder"])
def test_damaged_entry_is_compiled_anew(filled: Path, tmp_path: Path, damage: str) -> None:
    folder = copy(filled, tmp_path)
    for file in entries(folder):
        raw = file.read_bytes()
        if damage == "folder":
            file.unlink()
            file.mkdir()
        else:
            file.write_bytes(
                {
                    "empty": b"",
                    "cut": raw[: len(raw) // 2],
                    "text": b"not a pickle at all",
                    "another pickle": b"\x80\x04]\x94.",
                }[damage]
            )
    found = use(folder)
    assert found["loaded"] == 0
    assert found["compiled"] > 0
    if damage != "folder":
        assert use(folder)["compiled"] == 0


def test_entry_with_any_byte_changed_or_cut_off_is_compiled_anew(filled: Path, tmp_path: Path) -> None:
    """Each in a fork of one process, because machine code that changed on disk would end the process that runs it."""
    folder = copy(filled, tmp_path)
    code = """
    import os, pathlib, signal
    (folder,) = pathlib.Path(sys.argv[1]).iterdir()
    (file,) = folder.glob("levels.count_record_starts*")
    raw = file.read_bytes()
    cases = [("byte", n * len(raw) // 24) for n in range(24)] + [("cut", n * len(raw) // 6) for n in range(6)]
    wrong = []
    for kind, at in cases:
        changed = raw[:at] + bytes([raw[at] ^ 0x55]) + raw[at + 1:] if kind == "byte" else raw[:at]
        file.write_bytes(changed)
        child = os.fork()
        if child == 0:
            status = 1
            try:
                signal.alarm(20)
                count.overloads.clear()
                before = FOLDER.compiled
                fresh = type(count)(count.py_func, targetoptions=count.targetoptions)
                fresh._cache = count._cache
                fresh.compile("int64(uint8[::1], int64)")
                status = 0 if fresh(levels, 3) == 2 and FOLDER.compiled == before + 1 else 2
            except BaseException as error:
                print(kind, at, repr(error), file=sys.stderr)
            os._exit(status)
        _, status = os.waitpid(child, 0)
        if status:
            wrong.append([kind, at, status])
    print(wrong, file=sys.stderr)
    FOLDER.path = json.dumps(wrong)
"""
    done = subprocess.run([*command(code), str(folder)], env=environment(folder), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["path"] == "[]", done.stderr


def test_folder_that_cannot_be_made_gives_one_warning_and_works(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("in the way")
    found = use(blocked / "cache", "kernel_cache.load('levels.slice_required')")
    assert found["path"] is None
    assert found["compiled"] > 0
    assert len(found["warned"]) == 1
    assert "HARDWOOD_JIT_CACHE_DIR" in found["warned"][0]


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o702])
def test_folder_that_others_may_write_to_is_refused_with_one_warning(filled: Path, tmp_path: Path, mode: int) -> None:
    folder = copy(filled, tmp_path)
    (inner,) = folder.iterdir()
    inner.chmod(mode)
    found = use(folder)
    assert found["path"] is None
    assert found["loaded"] == 0
    assert len(found["warned"]) == 1


def test_folder_inside_one_that_others_may_write_to_is_refused(filled: Path, tmp_path: Path) -> None:
    """Whoever may write to the parent can put another folder of kernels, which are code, in its place."""
    folder = copy(filled, tmp_path)
    folder.chmod(0o777)
    found = use(folder)
    assert found["path"] is None
    assert len(found["warned"]) == 1


@pytest.mark.skipif(os.getuid() != 0, reason="only the superuser can give a folder away")
@pytest.mark.parametrize("which", ["root", "inner"])
def test_folder_of_somebody_else_is_refused(filled: Path, tmp_path: Path, which: str) -> None:
    folder = copy(filled, tmp_path)
    (inner,) = folder.iterdir()
    os.chown(folder if which == "root" else inner, 12345, -1)
    found = use(folder)
    assert found["path"] is None
    assert len(found["warned"]) == 1


def test_disk_that_fills_up_later_leaves_no_drafts_and_does_no_harm(tmp_path: Path) -> None:
    more = """
    import os, tempfile
    real = os.replace
    def full(*_):
        raise OSError(28, "no space left on device")
    os.replace = full
    kernel_cache.load("levels.slice_required")
    os.replace = real
    """
    found = use(tmp_path, more)
    assert found["path"] is None
    assert [file.name for file in tmp_path.glob("*/*") if file.suffix != ".nbc"] == []


def test_home_that_does_not_exist_still_works() -> None:
    found = use(None, HOME="/proc/nobody")
    assert found["compiled"] > 0
    assert len(found["warned"]) == 1


def test_cache_folder_is_chosen_from_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("HARDWOOD_JIT_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert cache_root() == tmp_path / "home" / ".cache" / "hardwood_jit"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_root() == tmp_path / "xdg" / "hardwood_jit"
    monkeypatch.setenv("HARDWOOD_JIT_CACHE_DIR", str(tmp_path / "own"))
    assert cache_root() == tmp_path / "own"


def test_user_without_a_home_gets_a_folder_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    def homeless() -> Path:
        raise RuntimeError("Could not determine home directory.")

    for name in ("HARDWOOD_JIT_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(Path, "home", homeless)
    assert str(os.getuid()) in cache_root().name


def test_fingerprint_changes_with_every_kernel_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    folder = tmp_path / "kernels"
    shutil.copytree(Path(compiled.__file__).parent, folder, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(compiled, "__file__", str(folder / "compiled.py"))
    before = kernel_cache.fingerprint.__wrapped__()
    assert before == kernel_cache.fingerprint.__wrapped__()
    seen = {before}
    for file in sorted(folder.glob("*.py")):
        file.write_text(file.read_text() + "\n# changed\n")
        seen.add(kernel_cache.fingerprint.__wrapped__())
    (folder / "another.py").write_text("")
    seen.add(kernel_cache.fingerprint.__wrapped__())
    assert len(seen) == len(list(folder.glob("*.py"))) + 1


@pytest.mark.parametrize("flag", ["BOUNDSCHECK", "OPT"])
def test_fingerprint_changes_with_flags_that_change_machine_code(monkeypatch: pytest.MonkeyPatch, flag: str) -> None:
    before = kernel_cache.fingerprint.__wrapped__()
    monkeypatch.setattr(kernel_cache.numba.config, flag, 77)
    assert kernel_cache.fingerprint.__wrapped__() != before


def test_clear_removes_kernels_and_keeps_loaded_ones_working(filled: Path, tmp_path: Path) -> None:
    folder = copy(filled, tmp_path)
    more = "kernel_cache.clear()\nassert count(levels, 3) == 2\nkernel_cache.load('levels.slice_required')"
    found = use(folder, more)
    assert found["warned"] == []
    assert not [file for file in entries(folder) if "count_record_starts" in file.name]
    assert [file for file in entries(folder) if "slice_required" in file.name]


def test_clear_removes_nothing_but_kernels(filled: Path, tmp_path: Path) -> None:
    """The folder is the caller's choice, and may hold other things of theirs."""
    folder = copy(filled, tmp_path)
    (folder / "thesis.txt").write_text("years of work")
    (folder / "photos").mkdir()
    (folder / "photos" / "one.jpg").write_text("x")
    use(folder, "kernel_cache.clear()")
    assert (folder / "thesis.txt").exists()
    assert (folder / "photos" / "one.jpg").exists()
