"""What README shows is what happens: its examples run."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

README = Path(__file__).parent.parent / "README.md"
BLOCKS = re.findall(r"<!-- doctest:begin -->\n```python\n(.*?)```\n<!-- doctest:end -->", README.read_text(), re.DOTALL)


def test_readme_has_examples() -> None:
    assert BLOCKS


@pytest.mark.parametrize("number", range(len(BLOCKS)))
def test_example_of_readme_gives_what_it_shows(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    test = doctest.DocTestParser().get_doctest(BLOCKS[number], {}, f"README, example {number}", str(README), 0)
    report: list[str] = []
    assert doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test, out=report.append).failed == 0, "".join(report)
