"""Projected schema -> tree of leaf, struct, list and map values, each with its place in the layers of the leaves below.

Exports and rows walk this tree instead of the schema: synthetic levels are gone, the list and map rules are applied.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from hardwood_jit.batch import Batch, Column, Layer, Validity
from hardwood_jit.errors import CorruptFileError, UnsupportedError, place
from hardwood_jit.physical import Repetition

if TYPE_CHECKING:
    from hardwood_jit.metadata.schema import Schema, SchemaNode


@dataclass(frozen=True, slots=True, eq=False)
class Nest:
    """One value of a record: `kind` is "leaf", "struct", "list" or "map"; a list has one child, a map key and value.

    `layer` is the position in `Column.layers` of every leaf below, None for leaves and required groups. `leaves` are
    positions in the projection, the first of which speaks for the group.
    """

    kind: str
    name: str
    node: SchemaNode
    nullable: bool
    layer: int | None
    leaves: tuple[int, ...]
    children: tuple[Nest, ...] = ()


@lru_cache(maxsize=64)
def nests_of(schema: Schema) -> tuple[Nest, ...]:
    """One `Nest` per top-level column of the projection."""
    positions = {leaf.index: position for position, leaf in enumerate(schema.leaves)}
    return tuple(_nest(node, 0, positions, False) for node in schema.children)


def _positions(node: SchemaNode, positions: dict[int, int]) -> tuple[int, ...]:
    return tuple(positions[leaf.index] for leaf in node.leaves)


def _nest(node: SchemaNode, layer: int, positions: dict[int, int], as_item: bool) -> Nest:
    """`layer` counts the layers above; `as_item`: the repeated node is already inside its list.

    Recursive, as all walks of this tree are: schemas are at most 255 groups deep.
    """
    below = _positions(node, positions)
    if node.repetition is Repetition.REPEATED and not as_item:
        if not below:
            raise UnsupportedError(
                f"'{'.'.join(node.path)}' is a list without columns below it: its length is not stored"
            )
        item = _nest(node, layer + 1, positions, True)
        return Nest("list", node.name, node, False, layer, below, (item,))
    nullable = node.repetition is Repetition.OPTIONAL
    if node.leaf is not None:
        return Nest("leaf", node.name, node, nullable, None, below)
    if node.is_list or node.is_map:
        if not below:
            raise UnsupportedError(
                f"'{'.'.join(node.path)}' is a list without columns below it: its length is not stored"
            )
        kind, children = _items(node, layer + 1, positions)
        return Nest(kind, node.name, node, nullable, layer, below, children)
    inner = layer + 1 if nullable else layer
    children = tuple(_nest(child, inner, positions, False) for child in node.children)
    return Nest("struct", node.name, node, nullable, layer if nullable else None, below, children)


def _items(node: SchemaNode, layer: int, positions: dict[int, int]) -> tuple[str, tuple[Nest, ...]]:
    """What a LIST or MAP group holds: the kind to show it as, and the item, or key and value."""
    (repeated,) = node.children
    if node.is_map:
        key, value = node.map_key, node.map_value
        if key is not None and value is not None:
            pair = (_nest(key, layer, positions, False), _nest(value, layer, positions, False))
            return "map", pair
        # Without values in the file a map is a list of its keys; with one side selected, of what is left of entries.
        if key is not None and node.origin.map_value is None:
            return "list", (_nest(key, layer, positions, False),)
        return "list", (_nest(repeated, layer, positions, True),)
    element = node.list_element
    if element is None or element is repeated:
        return "list", (_nest(repeated, layer, positions, True),)
    return "list", (_nest(element, layer, positions, False),)


def _same_validity(one: Validity, other: Validity) -> bool:
    if one is other or not (one.has_nulls or other.has_nulls):
        return True
    if one.words is None or other.words is None or one.null_count != other.null_count:
        return False
    words = (one.count + 63) >> 6
    return bool(np.array_equal(one.words[:words], other.words[:words]))


def layer_of(nest: Nest, batch: Batch) -> Layer:
    """The group's layer, on which all leaves below must agree: each has levels of its own, and bad files differ."""
    assert nest.layer is not None
    columns: Sequence[Column] = batch.columns
    first = columns[nest.leaves[0]]
    layer = first.layers[nest.layer]
    for position in nest.leaves[1:]:
        column = columns[position]
        other = column.layers[nest.layer]
        one, two = layer.offsets, other.offsets
        same = layer is other or (
            _same_validity(layer.validity, other.validity)
            and (one is two or (one is not None and two is not None and np.array_equal(one, two)))
        )
        if not same:
            raise CorruptFileError(
                f"{place(batch.file, batch.row_group, column.path)}: its levels disagree with those of '{first.path}' "
                f"about '{'.'.join(nest.node.path)}'"
            )
    return layer


def check_slots(column: Column, slots: int, batch: Batch) -> None:
    """A leaf has one slot per item of the group around it."""
    if column.value_count != slots:
        raise CorruptFileError(
            f"{place(batch.file, batch.row_group, column.path)}: {column.value_count} values, {slots} needed"
        )
