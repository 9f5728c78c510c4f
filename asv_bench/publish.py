"""asv's pages without the network: `asv publish`, then the scripts and styles they load put beside them.

    cd asv_bench && asv run --python=same --set-commit-hash "$(git rev-parse HEAD)"
    python asv_bench/publish.py && cd asv_bench && asv preview

asv's HTML names its scripts by addresses of content delivery networks. Each address says a package and a version, and
that package comes from npm (`npm pack`, kept in .asv/npm, so that a second time needs no network). A file that is byte
by byte what asv names by its hash is checked by that hash; of the rest package and version are what is known.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import re
import subprocess
import sys
import tarfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from urllib.parse import urlsplit

HERE = Path(__file__).resolve().parent
HTML = HERE / ".asv" / "html"
PACKAGES = HERE / ".asv" / "npm"
VENDOR = "vendor"  # below the folder of the pages

# How the path of an address names a package, its version and a file of it.
ADDRESSES = (
    re.compile(r"/npm/(?P<package>[^/@]+)@(?P<version>[^/]+)/(?P<path>.+)"),
    re.compile(r"/libs/(?P<package>[^/]+)/(?P<version>[^/]+)/(?P<path>.+)"),
    re.compile(r"/(?P<package>jquery)-(?P<version>[0-9.]+[0-9])(?P<path>(\.min)?\.js)"),
)
# Packages whose name on npm differs; of this one npm has no other version.
INSTEAD = {"stupidtable@1.0.1": "stupid-table-plugin@1.1.3"}

# Elements of HTML that make a browser fetch something before it draws.
LOADING = re.compile(r"<(?:script|link|img)\b[^>]*>", re.IGNORECASE)
ADDRESS = re.compile(r"""\b(src|href)\s*=\s*(["'])((?:https?:)?//.*?)\2""", re.IGNORECASE)
INTEGRITY = re.compile(r"""\s+integrity\s*=\s*(["'])(.*?)\1""", re.IGNORECASE)
# Attributes that concern other servers only; `crossorigin` on an own file would demand headers of a plain file server.
ELSEWHERE = re.compile(r"""\s+(?:crossorigin|referrerpolicy)\s*=\s*(["']).*?\1""", re.IGNORECASE)
STYLE_FILES = re.compile(rb"""url\(\s*["']?([^"')?#]+)""")


class PublishError(RuntimeError):
    """The pages are not as this script knows them; the message says what differs."""


@dataclass(frozen=True)
class Wanted:
    """A file of a package: `flot@0.8.3`, `jquery.flot.min.js`."""

    package: str
    path: str

    @classmethod
    def from_address(cls, address: str) -> Wanted:
        """What an address asks for."""
        path = urlsplit(address).path
        for form in ADDRESSES:
            if found := form.search(path):
                name = f"{found['package']}@{found['version']}"
                file = found["path"] if "/" in found["path"] or not found["path"].startswith(".") else ""
                return cls(INSTEAD.get(name, name), file or f"dist/{found['package']}{found['path']}")
        raise PublishError(f"{address}: names no package and version as known here; add its form to ADDRESSES")

    def find(self, files: list[str]) -> str:
        """The file among those of the package: at its path, by its name, or in the form that is not minified."""
        name = PurePosixPath(self.path).name
        for wanted in (name, name.replace(".min.", ".")):
            same = [file for file in files if PurePosixPath(file).name == wanted]
            if self.path in same:
                return self.path
            if same:
                return min(same, key=lambda file: (file.count("/"), file))
        raise PublishError(f"{self.package} has no file {name}, minified or not")


def has_integrity(data: bytes, stated: str) -> bool:
    """Whether bytes have one of the hashes that HTML states for them."""
    hashes = (word.partition("-")[::2] for word in stated.split())
    return any(
        algorithm in ("sha256", "sha384", "sha512")
        and base64.b64encode(hashlib.new(algorithm, data).digest()).decode() == digest
        for algorithm, digest in hashes
    )


def localized(html: str, place: Callable[[Wanted], tuple[str, bytes]]) -> str:
    """HTML with every address of a script or style replaced by what `place` answers: the local one, and its bytes."""

    def rewrite(element: re.Match[str]) -> str:
        text = element[0]
        address = ADDRESS.search(text)
        if address is None:
            return text
        local, data = place(Wanted.from_address(address[3]))
        text = text.replace(address[3], local)
        stated = INTEGRITY.search(text)
        if stated is not None and not has_integrity(data, stated[2]):
            text = text.replace(stated[0], "")  # another build of the same version
        return ELSEWHERE.sub("", text)

    return LOADING.sub(rewrite, html)


def remote_addresses(html: str) -> list[str]:
    """What a browser would still fetch from elsewhere."""
    found = (ADDRESS.search(element[0]) for element in LOADING.finditer(html))
    return [address[3] for address in found if address is not None]


def read_package(name: str, folder: Path = PACKAGES) -> dict[str, bytes]:
    """The files of a package by path; from npm unless it is in the folder already."""
    archive = folder / f"{name.replace('@', '-')}.tgz"
    if not archive.exists():
        folder.mkdir(parents=True, exist_ok=True)
        command = ["npm", "pack", "--silent", "--pack-destination", str(folder), name]
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False)
        except FileNotFoundError:
            raise PublishError("npm is not installed; it fetches the scripts of asv's pages") from None
        if done.returncode or not archive.exists():
            raise PublishError(f"{' '.join(command)}: {(done.stderr or done.stdout).strip() or 'no archive came'}")
    with tarfile.open(archive) as tar:
        members = ((member.name.partition("/")[2], tar.extractfile(member)) for member in tar if member.isfile())
        return {path: file.read() for path, file in members if file is not None}


class Vendor:
    """Puts files of packages below the folder of the pages; a style brings the files it names."""

    def __init__(self, html: Path, read: Callable[[str], dict[str, bytes]] = read_package) -> None:
        self._html, self._read = html, read
        self._packages: dict[str, dict[str, bytes]] = {}

    def place(self, wanted: Wanted) -> tuple[str, bytes]:
        """Write a file; its address relative to the pages, and its bytes."""
        files = self._packages.setdefault(wanted.package, {}) or self._read(wanted.package)
        self._packages[wanted.package] = files
        path = wanted.find(list(files))
        if path.endswith(".css"):
            for named in STYLE_FILES.findall(files[path]):
                beside = _resolved(PurePosixPath(path).parent, named.decode())
                if beside in files:
                    self._write(wanted.package, beside, files[beside])
        return self._write(wanted.package, path, files[path]), files[path]

    def _write(self, package: str, path: str, data: bytes) -> str:
        local = f"{VENDOR}/{package}/{path}"
        target = self._html / local
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
        return local


def _resolved(folder: PurePosixPath, relative: str) -> str:
    """A relative path as the package names it: from `dist/css`, `../fonts/a.woff` is `dist/fonts/a.woff`."""
    parts: list[str] = []
    for part in (folder / relative).parts:
        if part == "..":
            parts = parts[:-1]
        else:
            parts.append(part)
    return "/".join(parts)


def localize_folder(html: Path, read: Callable[[str], dict[str, bytes]] = read_package) -> int:
    """Rewrite all pages of a folder; how many files of packages they load."""
    vendor = Vendor(html, read)
    placed: set[str] = set()

    def place(wanted: Wanted) -> tuple[str, bytes]:
        local, data = vendor.place(wanted)
        placed.add(local)
        return local, data

    for page in sorted(html.glob("*.html")):
        text = localized(page.read_text(encoding="utf-8"), place)
        if left := remote_addresses(text):
            raise PublishError(f"{page.name} still loads {', '.join(left)}")
        page.write_text(text, encoding="utf-8")
    return len(placed)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--html", type=Path, help="rewrite these pages, and do not run asv")
    given = parser.parse_args()
    if given.html is None:
        done = subprocess.run([sys.executable, "-m", "asv", "publish"], cwd=HERE, check=False)
        if done.returncode:
            return done.returncode
    html = given.html or HTML
    try:
        count = localize_folder(html)
    except PublishError as error:
        print(error, file=sys.stderr)
        return 1
    print(f"{html}: {count} scripts and styles are local now. `asv preview` in {HERE.name} shows the pages.")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
