"""Measured works kept as JSON: what one run measures is added to what others have measured, work by work."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path

from rotation import Measured


class OtherScale(ValueError):
    """Results of data of another size stand in the file: they would not be comparable."""


@dataclass(frozen=True)
class Conditions:
    """How a work was measured."""

    machine: str
    date: str
    rounds: int
    threads: int
    scale: float


@dataclass
class Store:
    """Works with their results and conditions; notes are texts that stand beside them. With a path, kept there."""

    works: dict[str, Measured] = field(default_factory=dict)
    conditions: dict[str, Conditions] = field(default_factory=dict)
    notes: dict[str, str] = field(default_factory=dict)
    path: Path | None = None

    @classmethod
    def read(cls, path: Path | None, scale: float | None = None) -> Store:
        """What a file has, nothing without one; raises `OtherScale` unless all of it is of that scale."""
        store = cls(path=path)
        if path is None or not path.exists():
            return store
        data = json.loads(path.read_text(encoding="utf-8"))
        for name, entry in data["works"].items():
            store.conditions[name] = Conditions(**entry.pop("conditions"))
            store.works[name] = Measured(**entry)
        store.notes = data["notes"]
        others = {way.scale for way in store.conditions.values()} - {scale}
        if scale is not None and others:
            raise OtherScale(f"{path} has results of scale {', '.join(f'{s:g}' for s in others)}, not {scale:g}")
        return store

    def add(self, name: str, measured: Measured, conditions: Conditions) -> None:
        """A work, in place of what was known of it."""
        self.works[name], self.conditions[name] = measured, conditions
        self._write()

    def note(self, name: str, text: str) -> None:
        self.notes[name] = text
        self._write()

    def _write(self) -> None:
        """After every work: a run that is ended keeps what it has measured."""
        if self.path is None:
            return
        works = {
            name: {**asdict(measured), "conditions": asdict(self.conditions[name])}
            for name, measured in self.works.items()
        }
        self.path.parent.mkdir(parents=True, exist_ok=True)
        fresh = self.path.with_suffix(".new")
        text = json.dumps({"works": works, "notes": self.notes}, indent=1, ensure_ascii=False)
        fresh.write_text(text + "\n", encoding="utf-8")
        fresh.replace(self.path)
