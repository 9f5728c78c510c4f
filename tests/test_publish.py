"""asv's pages get their scripts from a folder beside them; packages are made here, nothing is fetched."""

from __future__ import annotations

import base64
import hashlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

HERE = Path(__file__).resolve().parent
FLOT = b"/* not minified */"
JQUERY = b"/* minified */"
STYLE = b"@font-face{src:url('../fonts/icons.woff?v=3')}b{background:url(none.png)}"
PACKAGES = {
    "jquery@3.3.1": {"dist/jquery.min.js": JQUERY, "external/jquery.min.js": b"another"},
    "flot@0.8.3": {"jquery.flot.js": FLOT, "examples/jquery.flot.js": b"another"},
    "stupid-table-plugin@1.1.3": {"stupidtable.min.js": b"sort"},
    "bootstrap@3.1.1": {"dist/css/bootstrap.min.css": STYLE, "dist/fonts/icons.woff": b"font"},
}


def integrity(data: bytes, algorithm: str = "sha256") -> str:
    return f"{algorithm}-{base64.b64encode(hashlib.new(algorithm, data).digest()).decode()}"


# The forms of asv's own index.html, on a host that does not exist.
PAGE = f"""<html><head>
<script src="https://code.invalid/jquery-3.3.1.min.js" integrity="{integrity(JQUERY)}" crossorigin="anonymous"></script>
<script src="https://cdn.invalid/ajax/libs/flot/0.8.3/jquery.flot.min.js" integrity="{integrity(b"minified", "sha512")}"
 crossorigin="anonymous" referrerpolicy="no-referrer" onerror="failed()"></script>
<script src="//cdn.invalid/ajax/libs/stupidtable/1.0.1/stupidtable.min.js"></script>
<link rel="stylesheet" href="https://cdn.invalid/npm/bootstrap@3.1.1/dist/css/bootstrap.min.css">
<script language="javascript" src="asv.js"></script>
</head><body><a href="https://elsewhere.invalid/">a link to click</a></body></html>
"""


@pytest.fixture(scope="module")
def publish() -> ModuleType:
    path = HERE.parent / "asv_bench" / "publish.py"
    spec = importlib.util.spec_from_file_location("asv_bench_publish", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def pages(publish: ModuleType, tmp_path: Path) -> Path:
    (tmp_path / "index.html").write_text(PAGE)
    assert publish.localize_folder(tmp_path, PACKAGES.__getitem__) == 4
    return tmp_path


def test_no_script_or_style_is_loaded_from_elsewhere(publish: ModuleType, pages: Path) -> None:
    html = (pages / "index.html").read_text()
    assert publish.remote_addresses(html) == []
    assert "https://elsewhere.invalid/" in html and 'src="asv.js"' in html


def test_files_stand_where_the_page_looks_for_them(pages: Path) -> None:
    html = (pages / "index.html").read_text()
    for local, data in {
        "vendor/jquery@3.3.1/dist/jquery.min.js": JQUERY,
        "vendor/flot@0.8.3/jquery.flot.js": FLOT,
        "vendor/stupid-table-plugin@1.1.3/stupidtable.min.js": b"sort",
        "vendor/bootstrap@3.1.1/dist/css/bootstrap.min.css": STYLE,
    }.items():
        assert f'"{local}"' in html
        assert (pages / local).read_bytes() == data


def test_style_brings_the_fonts_it_names(pages: Path) -> None:
    assert (pages / "vendor/bootstrap@3.1.1/dist/fonts/icons.woff").read_bytes() == b"font"


def test_hash_stays_where_the_file_has_it_and_goes_where_it_is_another_build(pages: Path) -> None:
    jquery, flot = (pages / "index.html").read_text().split("<script")[1:3]
    assert integrity(JQUERY) in jquery and "crossorigin" not in jquery
    assert "integrity" not in flot and "referrerpolicy" not in flot and 'onerror="failed()"' in flot


def test_pages_that_are_local_already_stay_as_they_are(publish: ModuleType, pages: Path) -> None:
    before = (pages / "index.html").read_text()
    assert publish.localize_folder(pages, PACKAGES.__getitem__) == 0
    assert (pages / "index.html").read_text() == before


@pytest.mark.parametrize(
    ("address", "said"),
    [("https://cdn.invalid/some.js", "names no package"), ("https://cdn.invalid/npm/flot@0.8.3/pie.js", "no file pie")],
)
def test_unknown_script_is_an_error_that_names_it(
    publish: ModuleType, tmp_path: Path, address: str, said: str
) -> None:
    (tmp_path / "index.html").write_text(f'<script src="{address}"></script>')
    with pytest.raises(publish.PublishError, match=said):
        publish.localize_folder(tmp_path, PACKAGES.__getitem__)
