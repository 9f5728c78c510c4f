"""What README shows is what happens: its examples run, in order, on files made here.

Blocks of Python with `>>>` are doctests; the others share their names from block to block. Blocks below
`<!-- spark -->` need Spark: their calls are held against the signatures, and their pipeline against the one that
tests/spark runs.
"""

from __future__ import annotations

import ast
import datetime as dt
import doctest
import inspect
import re
import shlex
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hardwood_jit as hw
from hardwood_jit import spark as hw_spark
from hardwood_jit.cli import main as hardwood

REPOSITORY = Path(__file__).resolve().parent.parent
README = REPOSITORY / "README.md"
TEXT = README.read_text(encoding="utf-8")
BLOCKS = re.findall(r"^([^\n]*)\n```(python|bash)\n(.*?)^```", TEXT, re.DOTALL | re.MULTILINE)
PYTHON = [(above, code) for above, language, code in BLOCKS if language == "python"]
DOCTESTS = [code for _, code in PYTHON if ">>>" in code]
SPARK = [code for above, code in PYTHON if above == "<!-- spark -->"]
EXAMPLES = [code for above, code in PYTHON if ">>>" not in code and above != "<!-- spark -->"]
SHELL = [line for _, language, code in BLOCKS if language == "bash" for line in code.splitlines()]
COMMANDS = [line for line in SHELL if line.startswith("hardwood ")]
ROWS = 6_000  # two files, two row groups each


def write_trips(folder: Path) -> None:
    """trips.parquet, and its halves in trips/: all columns that README's examples name."""
    random = np.random.default_rng(3)
    row = np.arange(ROWS)
    table = pa.table(
        {
            "trip_id": row,
            "city": np.array(["Aachen", "Bergen", "Delft", "Évora"])[row % 4],
            "fare": random.gamma(2.0, 12.0, ROWS).round(2),
            "tip": pa.array([None if number % 5 == 0 else number % 90 / 2.0 for number in row.tolist()]),
            "started": pa.array([dt.datetime(2025, 1, 1, tzinfo=dt.UTC)] * ROWS, pa.timestamp("us", "UTC")),
            "rider": [f"r{number:07}" for number in row.tolist()],
            "ratings": pa.array([None, [], [1, 5], [4]] * (ROWS // 4), pa.list_(pa.int32())),
            "address": [{"street": f"Markt {number % 80}", "zip": "2611"} for number in row.tolist()],
        }
    )
    pq.write_table(table, folder / "trips.parquet", row_group_size=ROWS // 4)
    (folder / "trips").mkdir()
    pq.write_table(table[: ROWS // 2], folder / "trips" / "a.parquet")
    pq.write_table(table[ROWS // 2 :], folder / "trips" / "b.parquet")


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write_trips(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_readme_has_examples() -> None:
    assert len(DOCTESTS) >= 2 and len(EXAMPLES) >= 6 and len(SPARK) >= 3 and len(COMMANDS) >= 2
    assert len(BLOCKS) == len(re.findall(r"^```(?:python|bash)$", TEXT, re.MULTILINE))


@pytest.mark.parametrize("number", range(len(DOCTESTS)))
def test_example_of_readme_gives_what_it_shows(number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    test = doctest.DocTestParser().get_doctest(DOCTESTS[number], {}, f"README, example {number}", str(README), 0)
    report: list[str] = []
    assert doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test, out=report.append).failed == 0, "".join(report)


@pytest.mark.usefixtures("place")
def test_blocks_of_python_run_one_after_the_other(capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, object] = {}
    for number, code in enumerate(EXAMPLES):
        exec(compile(code, f"README, block {number}", "exec"), names)
        # A scan that a block only builds is run here: building it reads nothing.
        for statement in ast.parse(code).body:
            if isinstance(statement, ast.Expr):
                value = eval(compile(ast.Expression(statement.value), f"README, block {number}", "eval"), names)
                if isinstance(value, hw.Scan):
                    value.to_arrow()
    shown = capsys.readouterr().out
    for line in re.findall(r"print\(error\) +# (.*)", "\n".join(EXAMPLES)):
        assert line in shown


@pytest.mark.usefixtures("place")
@pytest.mark.parametrize("line", COMMANDS)
def test_command_of_readme_runs(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert hardwood(shlex.split(line)[1:]) == 0
    assert capsys.readouterr().out


def signature_of(function: ast.expr) -> inspect.Signature | None:
    """Of `hw.name` and `hw_spark.name`; an unknown name is an AttributeError."""
    if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name):
        module = {"hw": hw, "hw_spark": hw_spark}.get(function.value.id)
        if module is not None:
            return inspect.signature(getattr(module, function.attr))
    return None


@pytest.mark.parametrize("number", range(len(SPARK)))
def test_calls_of_spark_blocks_fit_their_functions(number: int) -> None:
    checked = 0
    for node in ast.walk(ast.parse(SPARK[number])):
        if isinstance(node, ast.Call) and (signature := signature_of(node.func)) is not None:
            signature.bind(*node.args, **{str(keyword.arg): keyword.value for keyword in node.keywords})
            checked += 1
    assert checked


def test_pipeline_of_readme_is_the_one_that_is_tested_with_spark() -> None:
    def body(code: str) -> list[str]:
        functions = [node for node in ast.parse(code).body if isinstance(node, ast.FunctionDef)]
        (features,) = [node for node in functions if node.name == "features"]
        without = features.body[ast.get_docstring(features) is not None :]
        return [ast.dump(statement) for statement in without]

    tested = (REPOSITORY / "tests" / "spark" / "test_pipeline.py").read_text(encoding="utf-8")
    (shown,) = [code for code in SPARK if "def features" in code]
    assert body(shown) == body(tested)


@pytest.mark.parametrize("path", re.findall(r"\]\(((?!https?:|#)[^)]+)\)", TEXT))
def test_files_that_readme_links_are_there(path: str) -> None:
    assert (REPOSITORY / path.partition("#")[0]).exists()


@pytest.mark.parametrize("target", sorted(set(re.findall(r"\]\(#([^)]+)\)", TEXT))))
def test_headings_that_readme_links_are_there(target: str) -> None:
    headings = re.findall(r"^#+ (.+)$", TEXT, re.MULTILINE)
    assert target in {heading.lower().replace(" ", "-") for heading in headings}
