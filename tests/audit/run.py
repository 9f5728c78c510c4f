"""Runs cells: builds files and predicates, reads them with hardwood_jit, compares with the oracle, counts.

A unit is one column type with its nullability over all layouts (or a pair of columns, a list column, the shapes of
generated kernels, a file read by Spark); units are independent and run side by side. Each file is opened once and read
by many scans.
"""

from __future__ import annotations

import datetime as dt
import itertools
import multiprocessing
import pathlib
import random
import tempfile
import time
import uuid
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any
from unittest.mock import patch

import numpy as np

import hardwood_jit as hw
from hardwood_jit import col, whole_group
from hardwood_jit.jit.fused_kernels import FUSED
from hardwood_jit.jit.group_kernel import KERNELS, GroupKernel
from tests.audit import matrix, oracle, spark
from tests.audit.files import PHYSICAL, ROWS, AuditFile, annotation, arrow_array, deal_rows, make_file, write_by_hand
from tests.audit.matrix import (
    COMPARISONS,
    FUSED_LAYOUTS,
    FUSED_OPERATORS,
    FUSED_PAIRS,
    FUSED_TYPES,
    HANDMADE,
    LISTED,
    NULLABILITIES,
    ONE_OF_EACH,
    OPERATORS,
    PAIRS,
    PATHS,
    PYARROW,
    SPARK_PATHS,
    SPARK_READ,
    TYPES,
    Deck,
    Layout,
    Literal,
    Path,
)
from tests.audit.oracle import Answer, Refused, Type
from tests.support import pages as p
from tests.support.columns import column_records

FUSED_FIND = FUSED.find
WHOLE = "whole row groups"
IN_SPARK = "in Spark's workers"
REFUSED_SHARE = 6  # every sixth draw of literals is one that must be refused, where there are both


# ---------------------------------------------------------------- results


@dataclass
class Results:
    """What was checked. Counters are by (type, operator); mismatches are lines for a person to read."""

    cells: Counter[tuple[str, str]] = field(default_factory=Counter)
    refusals: Counter[tuple[str, str]] = field(default_factory=Counter)
    mismatches: Counter[tuple[str, str]] = field(default_factory=Counter)
    literals: Counter[tuple[str, str]] = field(default_factory=Counter)  # kind, "answered" or "refused"
    paths: Counter[str] = field(default_factory=Counter)
    layouts: Counter[str] = field(default_factory=Counter)
    nullabilities: Counter[str] = field(default_factory=Counter)
    kernels: Counter[str] = field(default_factory=Counter)
    triples: set[int] = field(default_factory=set)
    lines: list[str] = field(default_factory=list)
    files: int = 0
    matching_rows: int = 0
    fused_shapes: set[str] = field(default_factory=set)

    def add(self, other: Results) -> None:
        for name, mine in vars(self).items():
            theirs = getattr(other, name)
            if isinstance(mine, Counter | set):
                mine.update(theirs)
            elif isinstance(mine, list):
                mine.extend(theirs)
            else:
                setattr(self, name, mine + theirs)


@dataclass(frozen=True)
class Cell:
    """One question: what is asked of which file in which way, and what the oracle says."""

    type_name: str
    nullability: str
    operator: str
    layout: str
    path: Path
    predicate: Callable[[], Any]  # building it may be refused already
    column: str
    wanted: Sequence[int] | Refused
    literals: Sequence[Literal] = ()
    stored: Sequence[Any] | None = None  # per row, where the column itself is read too


# ---------------------------------------------------------------- asking hardwood_jit


def literal_forms(value: Any) -> set[str]:
    """How a message may show a literal."""
    plain = oracle.python_value(value)
    forms = {repr(value), str(value), repr(plain), str(plain)}
    if isinstance(plain, np.datetime64):
        day = str(plain.astype("datetime64[D]"))
        forms |= {day, ", ".join(str(int(part)) for part in day.lstrip("-").split("-"))}
    if isinstance(plain, dt.datetime):
        utc = plain.astimezone(dt.UTC) if plain.tzinfo else plain
        forms |= {
            utc.strftime("%Y-%m-%dT%H:%M"),
            utc.isoformat(),
            str(utc),
            f"{utc.year:04}-{utc.month:02}-{utc.day:02}",
        }
        forms |= {f"{utc.year}, {utc.month}, {utc.day}"}
    if isinstance(plain, bytes) and len(plain) > 8:
        forms.add(repr(plain)[:8])
    if isinstance(plain, str) and len(plain) > 8:
        forms.add(plain[:8])
    if isinstance(plain, int) and not isinstance(plain, bool) and abs(plain) > 10**20:
        forms.add(str(plain)[:10])
    if isinstance(plain, Decimal | uuid.UUID):
        forms.add(str(plain))
    return forms


def _names_one(text: str, literals: Sequence[Any]) -> bool:
    return any(form in text for value in literals for form in literal_forms(value))


def read_rows(dataset: hw.Dataset, cell: Cell) -> list[int] | int:
    """The numbers of the rows that come out, or how many."""
    scan = dataset.scan().threads(1).use_metadata(cell.path.metadata).filter(cell.predicate())
    match cell.path.terminal:
        case "count":
            return scan.count()
        case "rows":
            return [row["row"] for row in scan.select("row").rows()]
        case "to_arrow":
            found: list[int] = scan.select("row").to_arrow()["row"].to_pylist()
            return found
    if cell.stored is None:
        return [row for batch in scan.select("row").batches() for row in batch["row"].values.tolist()]
    rows: list[int] = []
    for batch in scan.select("row", cell.column).batches():
        here = batch["row"].values.tolist()
        values = [_inner(record) for record in column_records(batch[cell.column])]
        wanted = [cell.stored[row] for row in here]
        if list(map(_bits, values)) != list(map(_bits, wanted)):
            raise ValueError(f"the values of rows {here} are {values}")
        rows += here
    return rows


def _inner(record: Any) -> Any:
    return record[0] if isinstance(record, tuple) else record


def _bits(value: Any) -> Any:
    return "nan" if value != value else str(value) if isinstance(value, float) else value


@contextmanager
def kernels_met() -> Iterator[set[str]]:
    """Which special kernels the scans in this block meet: the text of a generated one, or WHOLE."""
    met: set[str] = set()
    find, narrow = FUSED.find, GroupKernel.narrow

    def noting_find(shape: Any) -> Any:
        kernel = find(shape)
        if kernel is not None:
            met.add(shape.text)
        return kernel

    def noting_narrow(self: GroupKernel, *arguments: Any) -> Any:
        count, did = narrow(self, *arguments)
        if count >= 0:
            met.add(WHOLE)
        return count, did

    with patch.object(FUSED, "find", noting_find), patch.object(GroupKernel, "narrow", noting_narrow):
        yield met


def check(results: Results, read: Callable[[], list[int] | int], cell: Cell, *, way: str | None = None) -> None:
    """Run one cell and count it; `way` is the one to count it for, where this process does not see the kernels."""
    key = (cell.type_name, cell.operator)
    results.cells[key] += 1
    results.paths[f"{cell.path.terminal}, metadata {'on' if cell.path.metadata else 'off'}"] += 1
    results.layouts[cell.layout] += 1
    results.nullabilities[cell.nullability] += 1
    results.triples.add(zlib.crc32(f"{cell.type_name}/{cell.operator}/{cell.layout}".encode()))
    is_refused = isinstance(cell.wanted, Refused)
    for literal in cell.literals:
        results.literals[literal.kind, "refused" if is_refused else "answered"] += 1
    problem = None
    met: set[str] = set()
    try:
        with kernels_met() as met:
            found = read()
    except hw.PredicateError as error:
        text = str(error)
        if not isinstance(cell.wanted, Refused):
            problem = f"refused: {text}"
        elif cell.column not in text:
            problem = f"the refusal does not name the column: {text}"
        elif cell.wanted.literals and not _names_one(text, cell.wanted.literals):
            problem = f"the refusal does not name the literal: {text}"
        results.refusals[key] += 1
    except Exception as error:  # what must not happen is what is counted here
        problem = f"{type(error).__name__}: {error}"
    else:
        if isinstance(cell.wanted, Refused):
            problem = f"answered with {found}, but: {cell.wanted}"
        else:
            results.matching_rows += len(cell.wanted)
            wanted: Any = len(cell.wanted) if cell.path.terminal == "count" else list(cell.wanted)
            if found != wanted:
                problem = f"found {found}, wanted {wanted}"
    if way is None:
        way = "fused" if met - {WHOLE} else WHOLE if met else "general"
        results.fused_shapes |= met - {WHOLE}
    results.kernels[way] += 1
    if problem is not None:
        results.mismatches[key] += 1
        given = ", ".join(f"{literal.kind} {literal.value!r}" for literal in cell.literals)
        results.lines.append(
            f"{cell.type_name} {cell.nullability} {cell.operator} [{given}] on {cell.layout} by "
            f"{cell.path.terminal}, metadata {cell.path.metadata}, {way}: {problem}"
        )


# ---------------------------------------------------------------- predicates


BUILD: dict[str, Callable[[Any, Sequence[Any]], Any]] = {
    "eq": lambda column, given: column == given[0],
    "ne": lambda column, given: column != given[0],
    "lt": lambda column, given: column < given[0],
    "le": lambda column, given: column <= given[0],
    "gt": lambda column, given: column > given[0],
    "ge": lambda column, given: column >= given[0],
    "in": lambda column, given: column.is_in(given),
    "between": lambda column, given: column.is_between(*given),
    "starts_with": lambda column, given: column.starts_with(given[0]),
    "is_null": lambda column, given: column.is_null(),
    "is_not_null": lambda column, given: column.is_not_null(),
}


def build(column: Any, operator: str, given: Sequence[Any]) -> Any:
    if operator.startswith("not_"):
        return ~build(column, operator[4:], given)
    return BUILD[operator](column, given)


def definite(answers: Sequence[Answer]) -> list[int]:
    return [row for row, answer in enumerate(answers) if answer is True]


def plain_operator(operator: str) -> str:
    """The oracle's name of the operator without raw_, not_ and _empty."""
    return operator.removeprefix("raw_").removeprefix("not_").removesuffix("_empty")


class Dealer:
    """Deals literals for one column type: by operator, those that it answers and those that it refuses."""

    def __init__(self, kind: Type, values: Sequence[Any], rng: random.Random) -> None:
        self.kind = kind
        self._values = values
        self._rng = rng
        self._decks: dict[str, tuple[Deck[Literal] | None, Deck[Literal] | None]] = {}
        self._draws = rng.randrange(REFUSED_SHARE)

    def _deck(self, operator: str, raw: bool) -> tuple[Deck[Literal] | None, Deck[Literal] | None]:
        key = f"{raw} {operator}"
        if key not in self._decks:
            near = matrix.raw_literals if raw else matrix.fitting_literals
            answered, refused = [], []
            for literal in (*near(self.kind, self._values), *ONE_OF_EACH):
                try:
                    given = [literal.value] * (2 if operator == "between" else 1)
                    oracle.evaluate(self.kind, operator, given, [], raw=raw)
                except Refused:
                    refused.append(literal)
                else:
                    answered.append(literal)
            decks = [Deck(cards, self._rng) if cards else None for cards in (answered, refused)]
            self._decks[key] = (decks[0], decks[1])
        return self._decks[key]

    def literals(self, operator: str) -> list[Literal]:
        plain, raw = plain_operator(operator), operator.startswith("raw_")
        if plain in ("is_null", "is_not_null") or operator.endswith("_empty"):
            return []
        answered, refused = self._deck(plain, raw)
        self._draws += 1
        asks_for_refusal = refused is not None and self._draws % REFUSED_SHARE == 0
        main = refused if answered is None or asks_for_refusal else answered
        assert main is not None
        count = {"in": self._rng.randrange(1, 5), "between": 2}.get(plain, 1)
        found = [(main if number == 0 or answered is None else answered).deal() for number in range(count)]
        if plain == "between" and not asks_for_refusal and self._rng.random() < 0.8:
            return self._ascending(found, raw)
        if plain == "in" and self._rng.random() < 0.8:  # a mixture of bytes and values is refused by some types
            found = [one for one in found if oracle.is_bytes(one.value) == oracle.is_bytes(found[0].value)]
        self._rng.shuffle(found)
        return found

    def _ascending(self, found: list[Literal], raw: bool) -> list[Literal]:
        kind = self.kind.unannotated if raw else self.kind
        try:
            return sorted(found, key=lambda one: oracle.exact_literal(kind, one.value, False).value)
        except (Refused, TypeError):
            return found


def question(
    dealer: Dealer, file: AuditFile, operator: str
) -> tuple[Callable[[], Any], Sequence[int] | Refused, list[Literal]]:
    """A predicate with this operator on the file's column, what the oracle says, and its literals."""
    kind, rows, column = dealer.kind, file.rows, col(file.column)
    if operator in ("and", "or"):
        inner = dealer._rng.choice([*COMPARISONS, "in", "between", "not_in", "is_null"])
        bound = dealer._rng.randrange(ROWS)
        build_inner, wanted, literals = question(dealer, file, inner)
        if isinstance(wanted, Refused):
            return lambda: build_inner() & (col("row") >= bound), wanted, literals
        beyond = range(bound, ROWS)
        if operator == "and":
            return lambda: build_inner() & (col("row") >= bound), [row for row in wanted if row in beyond], literals
        return lambda: (col("row") >= bound) | build_inner(), sorted({*wanted, *beyond}), literals
    literals = dealer.literals(operator)
    given = [literal.value for literal in literals]
    raw = operator.startswith("raw_")
    name = operator.removeprefix("raw_").removesuffix("_empty")
    wanted: Sequence[int] | Refused
    try:
        wanted = definite(oracle.evaluate(kind, name, given, rows, raw=raw))
    except Refused as refusal:
        wanted = refusal
    return lambda: build(column.raw if raw else column, name, given), wanted, literals


# ---------------------------------------------------------------- units


@dataclass(frozen=True)
class Unit:
    """Work of one process: `what` is "column", "pair", "list", "fused" or "spark"."""

    what: str
    names: tuple[str, ...]
    nullability: str
    seed: int
    share: float = 1.0  # of the layouts

    def rng(self, *more: Any) -> random.Random:
        return random.Random("/".join(map(str, (self.seed, self.what, *self.names, self.nullability, *more))))


def all_units(seed: int, share: float = 1.0) -> list[Unit]:
    columns = [[Unit("column", (name,), nullability, seed, share) for name in TYPES] for nullability in NULLABILITIES]
    pairs = [Unit("pair", pair, "optional", seed, share) for pair in PAIRS]
    lists = [Unit("list", (name,), "list", seed, share) for name in LISTED]
    fused = [Unit("fused", (name,), "all", seed, share) for name in FUSED_TYPES]
    # A run may end half-way: every type comes once, then all other ways, before any type comes again.
    in_spark = spark_units(seed, share) if spark.has_spark() else []
    return [*fused, *columns[0], *pairs, *lists, *in_spark, *itertools.chain(*columns[1:])]


def spark_units(seed: int, share: float) -> list[Unit]:
    """Every type in one nullability; of a share every so many of them."""
    step = max(1, round(1 / share))
    return [
        Unit("spark", (name,), NULLABILITIES[number % len(NULLABILITIES)], seed, share)
        for number, name in enumerate(TYPES)
        if number % step == 0
    ]


RUNS = {
    "column": lambda unit: _run_column(unit),
    "pair": lambda unit: _run_pair(unit),
    "list": lambda unit: _run_list(unit),
    "fused": lambda unit: _run_fused(unit),
    "spark": lambda unit: _run_spark(unit),
}


def run_unit(unit: Unit) -> Results:
    FUSED.build(KERNELS)  # what is tested must not depend on what the disk has by chance
    # Generated kernels that an earlier run has left on disk would be found: they are asked for by name only.
    with patch.object(FUSED, "building", "never"), patch.object(FUSED, "find", lambda shape: None):
        return RUNS[unit.what](unit)


def check_here(results: Results, dataset: hw.Dataset, cell: Cell) -> None:
    """A cell in this process: with the kernels of whole row groups, where they are for it, and every third without."""
    is_used = sum(results.cells.values()) % 3 != 0
    with patch.object(whole_group, "IS_USED", is_used):
        check(results, lambda: read_rows(dataset, cell), cell)


def _some(unit: Unit, layouts: Sequence[Layout]) -> list[Layout]:
    count = max(1, round(len(layouts) * unit.share))
    return list(layouts) if count == len(layouts) else unit.rng("layouts").sample(list(layouts), count)


def _run_column(unit: Unit) -> Results:
    results, kind = Results(), TYPES[unit.names[0]]
    rng = unit.rng()
    values = matrix.stored_values(kind, rng)
    dealer, paths = Dealer(kind, values, rng), Deck(PATHS, rng)
    layouts = HANDMADE if arrow_array(kind, []) is None else (*HANDMADE, *PYARROW)
    for layout in _some(unit, layouts):
        file = make_file(kind, unit.nullability, values, layout, unit.rng(layout.name))
        results.files += 1
        dataset = hw.open(file.data)
        for operator in OPERATORS:
            if operator.startswith("raw_") and kind.physical == "INT96":
                continue  # its stored form has no Python value
            predicate, wanted, literals = question(dealer, file, operator)
            path = paths.deal()
            stored = file.rows if rng.random() < 0.5 else None
            check_here(
                results,
                dataset,
                Cell(
                    kind.name,
                    unit.nullability,
                    operator,
                    layout.name,
                    path,
                    predicate,
                    file.column,
                    wanted,
                    literals,
                    stored,
                ),
            )
        dataset.close()
    return results


def _run_pair(unit: Unit) -> Results:
    results = Results()
    left, right = (TYPES[name] for name in unit.names)
    rng = unit.rng()
    paths = Deck(PATHS, rng)
    for layout in _some(unit, HANDMADE):
        dataset, rows = _pair_file(left, right, None, layout, rng)
        results.files += 1
        for operator in (*COMPARISONS, *(f"not_{op}" for op in COMPARISONS)):
            check_here(results, dataset, _pair_cell(left, right, operator, rows, layout, paths.deal()))
        dataset.close()
    return results


def _pair_file(
    left: Type, right: Type, values: Sequence[Any] | None, layout: Layout, rng: random.Random
) -> tuple[hw.Dataset, list[tuple[Any, Any]]]:
    """A file of the columns `amount` and `other`, and what each row of it holds."""
    sides = []
    for name, kind in (("amount", left), ("other", right)):
        dealt = deal_rows(kind, values or matrix.stored_values(kind, rng), "optional", rng.random() < 0.5, rng)
        node = p.leaf(name, PHYSICAL[kind.physical], p.OPTIONAL, **annotation(kind, False))
        sides.append((kind, node, dealt))
    return hw.open(write_by_hand(sides, layout, rng)), list(zip(sides[0][2], sides[1][2], strict=True))


def _pair_cell(
    left: Type, right: Type, operator: str, rows: Sequence[tuple[Any, Any]], layout: Layout, path: Path
) -> Cell:
    wanted: Sequence[int] | Refused
    try:
        answers = oracle.evaluate_pair(left, operator.removeprefix("not_"), right, rows)
        wanted = definite(oracle.negated(answers) if operator.startswith("not_") else answers)
    except Refused as refusal:
        wanted = refusal
    name = f"{left.name} with {right.name}"

    def predicate() -> Any:
        return build(col("amount"), operator, [col("other")])

    return Cell(name, "optional", f"pair_{operator}", layout.name, path, predicate, "amount", wanted)


LIST_OPERATORS = (*COMPARISONS, "in", "not_in", "between", "is_null", "is_not_null", "not_eq", "not_lt")


def _run_list(unit: Unit) -> Results:
    results, kind = Results(), TYPES[unit.names[0]]
    rng = unit.rng()
    values = matrix.stored_values(kind, rng)
    dealer, paths = Dealer(kind, values, rng), Deck(PATHS, rng)
    element = p.leaf("element", PHYSICAL[kind.physical], p.OPTIONAL, **annotation(kind, False))
    for layout in _some(unit, HANDMADE[::2]):
        rows = [_random_list(values, rng) for _ in range(ROWS)]
        results.files += 1
        dataset = hw.open(write_by_hand([(kind, p.list_group("amount", element), rows)], layout, rng))
        for quantifier in ("any", "all"):
            for operator in LIST_OPERATORS:
                literals = dealer.literals(operator)
                given = [literal.value for literal in literals]
                wanted: Sequence[int] | Refused
                try:
                    wanted = definite(oracle.evaluate_items(kind, quantifier, operator, given, rows))
                except Refused as refusal:
                    wanted = refusal

                def predicate(quantifier: str = quantifier, operator: str = operator, given: Any = given) -> Any:
                    column = col("amount")
                    inner = operator.removeprefix("not_")
                    if inner == operator:
                        return build(getattr(column, quantifier)(), operator, given)
                    other = {"any": "all", "all": "any"}[quantifier]  # ~any(p) = all(~p)
                    return ~build(getattr(column, other)(), inner, given)

                name = f"{quantifier}_{operator}"
                cell = Cell(
                    f"list of {kind.name}",
                    "list",
                    name,
                    layout.name,
                    paths.deal(),
                    predicate,
                    "amount",
                    wanted,
                    literals,
                )
                check_here(results, dataset, cell)
        missing = Cell(
            f"list of {kind.name}",
            "list",
            "eq",
            layout.name,
            paths.deal(),
            lambda: col("amount") == dealer.literals("eq")[0].value,
            "amount",
            Refused("a comparison below a list needs any() or all()"),
        )
        check_here(results, dataset, missing)
        dataset.close()
    return results


def _random_list(values: Sequence[Any], rng: random.Random) -> list[Any] | None:
    form = rng.randrange(6)
    if form == 0:
        return None
    return [None if rng.random() < 0.2 else rng.choice(values) for _ in range(0 if form == 1 else rng.randrange(1, 4))]


FUSED_DRAWS = 4  # of literals, for each operator on each file


def _run_fused(unit: Unit) -> Results:
    """The same questions to generated kernels: built by a first scan, used by the second, which is the one checked."""
    results = Results()
    rng = unit.rng()
    name, (kind, paths) = unit.names[0], (TYPES[unit.names[0]], Deck(PATHS, rng))
    values = matrix.stored_values(kind, rng)
    dealer = Dealer(kind, values, rng)
    for layout in FUSED_LAYOUTS:
        for nullability in NULLABILITIES:
            file = make_file(kind, nullability, values, layout, unit.rng(layout.name, nullability))
            results.files += 1
            dataset = hw.open(file.data)
            for operator in FUSED_OPERATORS * FUSED_DRAWS:
                predicate, wanted, literals = question(dealer, file, operator)
                path = paths.deal()
                cell = Cell(name, nullability, operator, layout.name, path, predicate, file.column, wanted, literals)
                _check_fused(results, dataset, cell)
            dataset.close()
        if name in FUSED_PAIRS:
            dataset, rows = _pair_file(kind, kind, values, layout, rng)
            results.files += 1
            for operator in COMPARISONS:
                cell = _pair_cell(kind, kind, operator, rows, layout, paths.deal())
                _check_fused(results, dataset, cell)
            dataset.close()
    return results


def _check_fused(results: Results, dataset: hw.Dataset, cell: Cell) -> None:
    """A cell counts for the kernels that it has met."""
    with patch.object(whole_group, "IS_USED", False):  # else they would take most of the work
        with patch.multiple(FUSED, building="here", find=FUSED_FIND), suppress(hw.PredicateError):
            read_rows(dataset, cell)
        with patch.object(FUSED, "find", FUSED_FIND):
            check(results, lambda: read_rows(dataset, cell), cell)


SPARK_READS = 2  # of the data source for each file: Spark starts a process to plan each, which takes a second


def _run_spark(unit: Unit) -> Results:
    """Every operator on one file, in two jobs of Spark."""
    results, kind = Results(), TYPES[unit.names[0]]
    rng = unit.rng()
    values = matrix.stored_values(kind, rng)
    dealer, paths = Dealer(kind, values, rng), Deck(SPARK_PATHS, rng)
    layout = rng.choice(HANDMADE if arrow_array(kind, []) is None else (*HANDMADE, *PYARROW))
    file = make_file(kind, unit.nullability, values, layout, unit.rng(layout.name))
    results.files += 1
    operators = [one for one in OPERATORS if not (one.startswith("raw_") and kind.physical == "INT96")]
    asked = [(operator, paths.deal()) for operator in operators]
    asked += [(operator, SPARK_READ) for operator in rng.sample(operators, SPARK_READS)]
    cells = []
    for operator, path in asked:
        predicate, wanted, literals = question(dealer, file, operator)
        cells.append(
            Cell(kind.name, unit.nullability, operator, layout.name, path, predicate, file.column, wanted, literals)
        )
    with tempfile.TemporaryDirectory() as folder:
        place = pathlib.Path(folder) / "file.parquet"
        place.write_bytes(file.data)
        split_bytes = rng.choice((1, 1 << 20))  # a task for each row group, or one
        found = spark.answers(
            place, [(cell.path.terminal, cell.path.metadata, cell.predicate, split_bytes) for cell in cells]
        )
    for cell, answer in zip(cells, found, strict=True):

        def read(answer: list[int] | Exception = answer) -> list[int]:
            if isinstance(answer, Exception):
                raise answer
            return answer

        check(results, read, cell, way=IN_SPARK)
    return results


# ---------------------------------------------------------------- all of it


def run_all(
    units: Sequence[Unit],
    processes: int = 1,
    tell: Callable[[int, Results], None] | None = None,
    note: Callable[[Unit, Results], None] | None = None,
    seconds: float | None = None,
) -> Results:
    """The sum over the units, told after each; `note` gets every unit's own. No unit begins after so many seconds."""
    total = Results()
    for number, (unit, found) in enumerate(_results(units, processes, seconds), 1):
        total.add(found)
        if note is not None:
            note(unit, found)
        if tell is not None:
            tell(number, total)
    return total


def _with_unit(unit: Unit) -> tuple[Unit, Results]:
    return unit, run_unit(unit)


def _results(units: Sequence[Unit], processes: int, seconds: float | None = None) -> Iterator[tuple[Unit, Results]]:
    deadline = None if seconds is None else time.monotonic() + seconds
    if processes == 1:
        for unit in units:
            if deadline is not None and time.monotonic() > deadline:
                return
            yield _with_unit(unit)
        return
    with multiprocessing.get_context("spawn").Pool(processes) as pool:
        # A process at a time has one unit, so that none begins after the time is up.
        waiting = iter(units)
        running = [pool.apply_async(_with_unit, (unit,)) for unit in itertools.islice(waiting, processes)]
        while running:
            done = next((one for one in running if one.ready()), None)
            if done is None:
                running[0].wait(0.05)
                continue
            running.remove(done)
            if deadline is None or time.monotonic() < deadline:
                running += [pool.apply_async(_with_unit, (unit,)) for unit in itertools.islice(waiting, 1)]
            yield done.get()
