"""The `hardwood` command as a process of its own: pipes, terminals, exit codes."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq

COMMAND = [sys.executable, "-m", "hardwood_jit.cli"]


def run(*arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={**os.environ, **environment},
    )


def on_a_terminal(*arguments: object, **environment: str) -> tuple[int, str]:
    """The exit code, and all that arrives on the terminal."""
    ours, theirs = pty.openpty()
    settings = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "100", **environment}
    process = subprocess.Popen(
        [*COMMAND, *map(str, arguments)], stdin=theirs, stdout=theirs, stderr=theirs, env=settings
    )
    os.close(theirs)
    parts = []
    while True:
        try:
            part = os.read(ours, 1 << 16)
        except OSError:  # the other side has closed
            break
        if not part:
            break
        parts.append(part)
    os.close(ours)
    return process.wait(timeout=60), b"".join(parts).decode()


def test_json_of_a_process_is_nothing_but_json(indexed: Path) -> None:
    done = run("info", indexed, "--json")
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["rows"] == pq.ParquetFile(indexed).metadata.num_rows


def test_a_pipe_gets_plain_text(indexed: Path) -> None:
    done = run("pages", indexed, "--where", "id > 300")
    assert (done.returncode, done.stderr) == (0, "")
    assert "\x1b" not in done.stdout


def test_errors_go_to_standard_error(tmp_path: Path) -> None:
    done = run("head", tmp_path / "none.parquet")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.count("\n") == 1
    assert run("head").returncode == 2


def test_a_terminal_gets_colours_and_no_color_takes_them_away(indexed: Path) -> None:
    code, text = on_a_terminal("explain", indexed, "--where", "id > 300")
    assert code == 0
    assert "\x1b[48;" in text  # a background
    assert "rows left" in text
    code, text = on_a_terminal("pages", indexed, "--where", "id > 300", NO_COLOR="1")
    assert code == 0
    assert "\x1b[48;" not in text
    assert "4 row groups: ...#" in text


def test_whoever_stops_reading_ends_the_command_quietly(indexed: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        arguments = [*COMMAND, "head", str(indexed), "-n", "400"]
        done = subprocess.run(arguments, stdout=writing, stderr=subprocess.PIPE, timeout=120, check=False)
    finally:
        os.close(writing)
    assert (done.returncode, done.stderr) == (141, b"")


def test_text_beyond_the_encoding_of_the_output_is_escaped(indexed: Path) -> None:
    done = run("head", indexed, "-n", "3", "--columns", "city", PYTHONIOENCODING="ascii")
    assert done.returncode == 0
    assert "C\\xf3rdoba" in done.stdout
