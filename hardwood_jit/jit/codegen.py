"""KernelShape -> Python source text, which Numba compiles; a person can open the file and step through it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

from hardwood_jit.jit.shape import KernelShape, Tree

COMPARE = {
    "eq": "({x} == {k})",
    "ne": "({x} != {k})",
    "lt": "({x} < {k})",
    "le": "({x} <= {k})",
    "gt": "({x} > {k})",
    "ge": "({x} >= {k})",
}
JOIN = {"and": " & ", "or": " | "}  # without branches, so that loops become vector code
CONSTANTS = {"signed": "int64", "unsigned": "uint64", "float": "uint64"}

PAGES = '''\
# {text}
"""Tests PLAIN pages of one column where their values lie, and narrows the mask of candidate rows."""

import numpy as np

from hardwood_jit.kernels.compiled import fail, kernel
from hardwood_jit.kernels.fused import {load}
from hardwood_jit.kernels.select import narrow_page
from hardwood_jit.kernels.slices import OUT_START, ROW_COUNT, ROW_START, SKIP, SRC_END, SRC_START, TAKE
from hardwood_jit.kernels.status import BAD_COUNT, TRUNCATED
from hardwood_jit.kernels.take import slice_pages


@kernel
def run(src, bodies, nullable, start, stop, validity, counts, slices, hits, mask, null_matches, {constants}):
    status = slice_pages(src, bodies, nullable, start, stop, validity, counts, slices)
    if status < 0:
        return status
    left = np.int64(0)
    for p in range(slices.shape[0]):
        pos = slices[p, SRC_START]
        take = slices[p, TAKE]
        if slices[p, SKIP] + take > (slices[p, SRC_END] - pos) // {width}:
            return fail(np.int64(TRUNCATED), p)
        pos += slices[p, SKIP] * {width}
        row = slices[p, ROW_START]
        rows = slices[p, ROW_COUNT]
        at = slices[p, OUT_START]
        if row < 0 or rows > np.int64(mask.shape[0]) - row or take > np.int64(hits.shape[0]) - at or take > rows:
            return fail(np.int64(BAD_COUNT), p)
        if take == rows:
            for i in range(take):
                x0 = {load}(src, pos + i * {width})
                passed = mask[np.uint64(row + i)] & np.uint8({test})
                mask[np.uint64(row + i)] = passed
                left += np.int64(passed)
        else:
            for i in range(take):
                x0 = {load}(src, pos + i * {width})
                hits[np.uint64(at + i)] = np.uint8({test})
            left += narrow_page(mask, row, rows, validity, hits, at, take, null_matches)
    return left
'''

ROWS = '''\
# {text}
"""Tests decoded columns against each other, and narrows the mask of candidate rows from `first` on."""

import numpy as np

from hardwood_jit.kernels.compiled import kernel
from hardwood_jit.kernels.fused import is_present, {loads}


@kernel
def run(mask, first, row_count, {arguments}):
    left = np.int64(0)
    for i in range(row_count):
{values}
        passed = mask[np.uint64(first + i)] & np.uint8({test})
        mask[np.uint64(first + i)] = passed
        left += np.int64(passed)
    return left
'''


def render(tree: Tree, slots: Iterator[int], present: bool) -> str:
    """Source text of a tree; `slots` numbers the constants in reading order. `present`: a null is no match."""
    head, *rest = tree
    if head in JOIN:
        return "(" + JOIN[head].join(render(part, slots, present) for part in rest) + ")"
    if head == "pair":
        op, a, b = rest
        return f"(p{a} & p{b} & {COMPARE[op].format(x=f'x{a}', k=f'x{b}')})"
    text = COMPARE[head].format(x=f"x{rest[0]}", k=f"k{next(slots)}")
    return f"(p{rest[0]} & {text})" if present else text


def constant_kinds(shape: KernelShape) -> list[str]:
    """The types of the constants in reading order."""

    def visit(tree: Tree) -> Iterator[str]:
        head, *rest = tree
        if head in JOIN:
            for part in rest:
                yield from visit(part)
        elif head != "pair":
            yield CONSTANTS[shape.columns[rest[0]].kind]

    return list(visit(shape.tree))


def _load(shape: KernelShape, number: int) -> str:
    column = shape.columns[number]
    return f"load_{column.kind}_{column.width}"


def source_of(shape: KernelShape) -> tuple[str, str]:
    """The text of a shape's module, and the signature of its function `run`."""
    kinds = constant_kinds(shape)
    names = [f"k{number}" for number in range(len(kinds))]
    if shape.layout == "pages":
        source = PAGES.format(
            text=shape.text,
            load=_load(shape, 0),
            width=shape.columns[0].width,
            test=render(shape.tree, count(), False),
            constants=", ".join(names),
        )
        head = "uint8[::1], int64[:,::1], boolean, int64, int64, uint64[::1], int64[::1], int64[:,::1], uint8[::1], "
        return source, f"int64({head}uint8[::1], int64, {', '.join(kinds)})"
    numbers = range(len(shape.columns))
    values = "\n".join(
        f"        x{n} = {_load(shape, n)}(c{n}, i * {shape.columns[n].width})\n        p{n} = is_present(v{n}, i)"
        for n in numbers
    )
    source = ROWS.format(
        text=shape.text,
        loads=", ".join(sorted({_load(shape, n) for n in numbers})),
        arguments=", ".join([*(f"c{n}, v{n}" for n in numbers), *names]),
        values=values,
        test=render(shape.tree, count(), True),
    )
    columns = ["uint8[::1], uint64[::1]"] * len(shape.columns)
    return source, f"int64(uint8[::1], int64, int64, {', '.join([*columns, *kinds])})"
