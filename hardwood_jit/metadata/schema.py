"""The flat list of schema elements -> a tree of nodes, its leaves, and the layers of every leaf (SEMANTICS.md §4).

`build_schema` makes the tree of a file; `Schema.select` a tree with only the chosen columns, in the order asked. Whole
nodes are shared between both; a node that lost children is a copy whose `origin` is the file's node.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from hardwood_jit.errors import ColumnNotFoundError, CorruptFileError, UnsupportedError
from hardwood_jit.metadata import structs
from hardwood_jit.physical import LogicalType, PhysicalType, Repetition

MAX_DEPTH = 255  # below Python's recursion limit for everyone who walks the tree
MAX_LEVEL = 255  # levels are decoded into bytes
KEPT_PROJECTIONS = 8  # of a schema, of at most so many columns each:
KEPT_COLUMNS = 256
MAX_PATH_NAMES = 1 << 22  # names in all paths together: a deep and wide schema must not eat the memory

ColumnName = str | tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LayerSpec:
    """How the levels of a leaf make one of its layers.

    An entry with repetition level <= `slot_repetition` and definition level >= `slot_definition` starts a slot. The
    slot is not null when the definition level is >= `valid_definition`, and not empty when >= `item_definition`
    (repeated layers only; 0 for structs).
    """

    kind: str  # "struct" or "repeated"
    slot_repetition: int  # repeated layers above this one
    slot_definition: int
    valid_definition: int
    item_definition: int
    path: tuple[str, ...]  # of the node that adds the layer

    @property
    def nullable(self) -> bool:
        """Whether a slot can be null: by the layer's own node or by a group above it."""
        return self.valid_definition > self.slot_definition


class Leaf:
    """A column of primitive values; `index` is its number in the file, whatever the projection."""

    __slots__ = (
        "dotted",
        "index",
        "layers",
        "logical_type",
        "max_definition_level",
        "max_repetition_level",
        "node",
        "path",
        "physical_type",
        "repetition",
        "type_length",
        "unknown_logical_type",
    )

    def __init__(
        self, node: SchemaNode, physical_type: PhysicalType, index: int, layers: tuple[LayerSpec, ...]
    ) -> None:
        self.node = node
        self.physical_type = physical_type
        self.index = index
        self.layers = layers
        self.path = node.path
        self.dotted = ".".join(node.path)
        self.type_length: int | None = node.type_length
        self.logical_type: LogicalType | None = node.logical_type
        self.unknown_logical_type = node.unknown_logical_type
        self.repetition = node.repetition
        self.max_definition_level = node.max_definition_level
        self.max_repetition_level = node.max_repetition_level

    @property
    def slot_definition(self) -> int:
        """An entry with a definition level below this has no slot: its list is null or empty."""
        return max((layer.item_definition for layer in self.layers), default=0)

    @property
    def nullable(self) -> bool:
        """Whether a slot can be null: by the leaf itself or by a group above it."""
        return self.max_definition_level > self.slot_definition

    def __repr__(self) -> str:
        return f"Leaf({self.index}: {self.dotted} {_type_text(self.node)})"


class SchemaNode:
    """A group or a leaf of the schema tree.

    What a node adds to the layers of the leaves below it is in `layers`, outermost first. The repetition of a node
    with `is_item` belongs to the LIST or MAP group above it, so that it is read as a required node; with `is_middle` it
    is the synthetic level between a list and its element or between a map and its key. `item` is what a LIST or MAP
    group repeats: the element, or the key-value group. A field with `is_bare_repeated` is a required list of itself,
    read as a required node; it may be a list, map or struct besides.

    >>> tags = hw.open(trips).schema["tags"]
    >>> tags.is_list, tags.list_element.physical_type.name, str(tags.list_element.logical_type)
    (True, 'BYTE_ARRAY', 'STRING')
    """

    __slots__ = (
        "_list_element",
        "_map_key",
        "_map_value",
        "children",
        "field_id",
        "is_item",
        "is_list",
        "is_map",
        "is_middle",
        "is_synthetic",
        "item",
        "layers",
        "leaf",
        "logical_type",
        "max_definition_level",
        "max_repetition_level",
        "name",
        "origin",
        "path",
        "physical_type",
        "position",
        "repetition",
        "role",
        "type_length",
        "unknown_logical_type",
    )

    def __init__(self, name: str, path: tuple[str, ...], repetition: Repetition) -> None:
        self.name = name
        self.path = path
        self.repetition = repetition
        self.position: int = 0  # among its siblings in the file
        self.physical_type: PhysicalType | None = None
        self.type_length: int | None = None
        self.logical_type: LogicalType | None = None
        self.unknown_logical_type = False
        self.field_id: int | None = None
        self.children: tuple[SchemaNode, ...] = ()
        self.max_definition_level = 0
        self.max_repetition_level = 0
        self.leaf: Leaf | None = None
        self.origin: SchemaNode = self
        self.layers: tuple[LayerSpec, ...] = ()
        self.is_item = False
        self.is_middle = False
        self.is_synthetic = False  # its name may be left out of a path: a middle level or the element of a list
        self.role: str | None = None  # "key" or "value" of a map
        self.is_list = False
        self.is_map = False
        self.item: SchemaNode | None = None
        self._list_element: SchemaNode | None = None
        self._map_key: SchemaNode | None = None
        self._map_value: SchemaNode | None = None

    @property
    def is_leaf(self) -> bool:
        return self.leaf is not None

    @property
    def is_struct(self) -> bool:
        """A group that is neither a list nor a map."""
        return self.leaf is None and not self.is_list and not self.is_map

    @property
    def is_bare_repeated(self) -> bool:
        """A repeated field outside LIST and MAP: a required list of required elements."""
        return self.repetition is Repetition.REPEATED and not self.is_item

    @property
    def list_element(self) -> SchemaNode | None:
        return self._list_element

    @property
    def map_key(self) -> SchemaNode | None:
        return self._map_key

    @property
    def map_value(self) -> SchemaNode | None:
        return self._map_value

    @property
    def leaves(self) -> tuple[Leaf, ...]:
        """All leaves at or below this node, depth first."""
        return tuple(node.leaf for node in _walk(self) if node.leaf is not None)

    def child(self, name: str) -> SchemaNode | None:
        """The first child of that name."""
        return next((child for child in self.children if child.name == name), None)

    def __getitem__(self, name: str) -> SchemaNode:
        found = self.child(name)
        if found is None:
            raise _not_found(name, [child.name for child in self.children], f"'{self.name}' has no field")
        return found

    def __iter__(self) -> Iterator[SchemaNode]:
        return iter(self.children)

    def __len__(self) -> int:
        return len(self.children)

    def __bool__(self) -> bool:  # a leaf has no children and is still something
        return True

    def __str__(self) -> str:
        return "\n".join(_lines(self, 0))

    def __repr__(self) -> str:
        return f"SchemaNode({'.'.join(self.path)} {_type_text(self)})"


class Schema:
    """The columns of a file or of a projection; prints as a Parquet message type.

    >>> print(hw.scan(trips).select("id", "tags").schema)
    message schema {
      optional int64 id;
      optional group tags (LIST) {
        repeated group list {
          optional binary element (STRING);
        }
      }
    }
    """

    def __init__(self, root: SchemaNode, elements: Sequence[structs.SchemaElement], chosen: Any = None) -> None:
        self.root = root
        self.children = root.children
        self.leaves: tuple[Leaf, ...] = root.leaves
        self._elements = elements
        self._chosen = chosen  # None: the whole file; else a tree of child positions
        self._positions: dict[str, int] = {}
        self._projections: dict[tuple[ColumnName, ...], Schema] = {}

    @property
    def name(self) -> str:
        return self.root.name

    def __getitem__(self, name: str) -> SchemaNode:
        found = self.root.child(name)
        return found if found is not None else self.resolve(name)

    def __iter__(self) -> Iterator[SchemaNode]:
        return iter(self.children)

    def __len__(self) -> int:
        return len(self.children)

    def __bool__(self) -> bool:
        return True

    def __str__(self) -> str:
        lines = [f"message {self.root.name} {{"]
        for child in self.children:
            lines.extend(_lines(child, 1))
        return "\n".join([*lines, "}"])

    def __repr__(self) -> str:
        return f"Schema({', '.join(child.name for child in self.children)})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (self._elements, self._chosen)

    def resolve(self, column: ColumnName) -> SchemaNode:
        """The node of a column: a tuple of names is exact, text may leave out the synthetic levels of lists and maps.

        A top-level name that itself contains dots wins over a path.
        """
        route = self._route(column)
        if route is None:
            known = [child.name for child in self.children] + [leaf.dotted for leaf in self.leaves]
            known += _short_names(self.root)
            text = column if isinstance(column, str) else ".".join(column)
            raise _not_found(text, known, "no column")
        return route[-1]

    def _route(self, column: ColumnName) -> list[SchemaNode] | None:
        """The nodes from the first level down to the column, or None."""
        if isinstance(column, tuple):
            route: list[SchemaNode] = []
            node: SchemaNode | None = self.root
            for name in column:
                node = node.child(name) if node is not None and isinstance(name, str) else None
                if node is None:
                    return None
                route.append(node)
            return route or None
        if not isinstance(column, str):
            raise TypeError(f"a column is named by text or a tuple of names, not {type(column).__name__}")
        whole = self.root.child(column)
        if whole is not None:
            return [whole]
        return _match(self.root, column, exact=True) or _match(self.root, column, exact=False)

    def select(self, columns: Sequence[ColumnName]) -> Schema:
        """The projection: order as asked, nesting kept with only the chosen children, at the place of the first.

        The last few are kept, and with them what others derive from a schema: a look-up is over in a few milliseconds.
        """
        wanted = tuple(columns)
        try:
            found = self._projections.get(wanted)
        except TypeError:  # a column is named by something that no dict takes: which is what the error must say
            found = None
        if found is None:
            found = self._project(wanted)
            if len(wanted) <= KEPT_COLUMNS:
                if len(self._projections) >= KEPT_PROJECTIONS:
                    self._projections.clear()
                self._projections[wanted] = found
        return found

    def _project(self, columns: Sequence[ColumnName]) -> Schema:
        # Positions instead of names, because siblings may share a name. A chosen node's entry is empty: all of it.
        chosen: dict[int, Any] = {}
        for column in columns:
            route = self._route(column)
            if route is None:
                self.resolve(column)  # raises with close matches
                continue
            level = chosen
            for node in route[:-1]:
                inside = level.setdefault(node.position, {})
                if inside is None:
                    break  # the whole group was chosen before
                level = inside
            else:
                level[route[-1].position] = None
        merged = _compose(self._chosen, chosen, self.root)
        return Schema(_project(self.root, chosen), self._elements, merged)

    def extended(self, elements: Sequence[structs.SchemaElement]) -> Schema:
        """This schema of a whole file with more flat columns after its own, of which those so named are hidden.

        Leaves of the file keep their numbers, the others count on. With a hidden column the result does not pickle to
        itself.
        """
        root = _project(self.root, {child.position: None for child in self.children})
        added = [_make_node(element, root, root.name) for element in elements]
        for number, node in enumerate(added):
            assert node.physical_type is not None
            node.position = len(self.children) + number
            node.leaf = Leaf(node, node.physical_type, len(self.leaves) + number, ())
        names = {node.name for node in added}
        root.children = (*(child for child in self.children if child.name not in names), *added)
        count = len(self.children) + len(added)
        first = structs.SchemaElement(**(self._elements[0].__dict__ | {"num_children": count}))
        return Schema(root, (first, *self._elements[1:], *elements))

    def leaf_position(self, name: ColumnName) -> int:
        """Where the leaf of that path, long or short, stands in `leaves`."""
        if isinstance(name, str):
            if not self._positions:
                for number, leaf in reversed(list(enumerate(self.leaves))):
                    self._positions[leaf.dotted] = number
            found = self._positions.get(name)
            if found is not None:
                return found
        node = self.resolve(name)
        while node.leaf is None and node.is_list and node.list_element is not None:
            node = node.list_element
        for number, leaf in enumerate(self.leaves):
            if leaf is node.leaf:
                return number
        text = name if isinstance(name, str) else ".".join(name)
        below = ", ".join(leaf.dotted for leaf in node.leaves[:5])
        raise ColumnNotFoundError(f"'{text}' is a group, not a single column; its columns: {below}")


def _restore(elements: Sequence[structs.SchemaElement], chosen: Any) -> Schema:
    schema = build_schema(elements, "schema")
    return schema if chosen is None else Schema(_project(schema.root, chosen), elements, chosen)


def _walk(node: SchemaNode) -> Iterator[SchemaNode]:
    """The node and all below it, depth first; no recursion, the tree may be deep."""
    waiting = [node]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(reversed(node.children))


# Text of the tree


def _type_text(node: SchemaNode) -> str:
    if node.physical_type is None:
        return "group"
    if node.physical_type is PhysicalType.FIXED_LEN_BYTE_ARRAY:
        return f"fixed_len_byte_array({node.type_length})"
    return "binary" if node.physical_type is PhysicalType.BYTE_ARRAY else node.physical_type.name.lower()


def _lines(node: SchemaNode, depth: int) -> list[str]:
    lines: list[str] = []
    waiting: list[tuple[SchemaNode | None, int]] = [(node, depth)]
    while waiting:
        current, depth = waiting.pop()
        indent = "  " * depth
        if current is None:
            lines.append(f"{indent}}}")
            continue
        text = f"{indent}{current.repetition.name.lower()} {_type_text(current)} {current.name}"
        if current.logical_type is not None:
            text += f" ({current.logical_type})"
        if current.field_id is not None:
            text += f" = {current.field_id}"
        if current.leaf is not None:
            lines.append(f"{text};")
            continue
        lines.append(f"{text} {{")
        waiting.append((None, depth))
        waiting.extend((child, depth + 1) for child in reversed(current.children))
    return lines


# Names


def _not_found(name: str, known: Sequence[str], what: str) -> ColumnNotFoundError:
    close = difflib.get_close_matches(name, list(dict.fromkeys(known))[:2000], n=3, cutoff=0.5)
    if close:
        return ColumnNotFoundError(f"{what} '{name}'; close: {', '.join(repr(match) for match in close)}")
    shown = ", ".join(repr(match) for match in list(dict.fromkeys(known))[:5])
    return ColumnNotFoundError(f"{what} '{name}'; there are: {shown}" if shown else f"{what} '{name}'")


def _match(root: SchemaNode, text: str, exact: bool) -> list[SchemaNode] | None:
    """The first route whose names spell `text`; unless `exact`, synthetic names may be missing."""
    waiting: list[tuple[tuple[SchemaNode, ...], int]] = [((), 0)]  # route so far, where the rest of the text starts
    seen = set()
    while waiting:
        route, at = waiting.pop()
        node = route[-1] if route else root
        if (id(node), at) in seen:
            continue
        seen.add((id(node), at))
        more: list[tuple[tuple[SchemaNode, ...], int]] = []
        # A longer name first, so that a name with dots wins over a path.
        for child in sorted(node.children, key=lambda child: -len(child.name)):
            names = [child.name] if exact or child.role is None else [child.name, child.role]
            for name in names:
                if text.startswith(name, at):
                    stop = at + len(name)
                    if stop == len(text):
                        return [*route, child]
                    if text.startswith(".", stop):
                        more.append(((*route, child), stop + 1))
        if not exact:
            more.extend(((*route, child), at) for child in node.children if child.is_synthetic)
        waiting.extend(reversed(more))
    return None


def _short_names(root: SchemaNode) -> list[str]:
    """The paths of all leaves without their synthetic levels."""
    found: list[str] = []
    waiting: list[tuple[SchemaNode, tuple[str, ...]]] = [(child, ()) for child in reversed(root.children)]
    while waiting:
        node, names = waiting.pop()
        if not node.is_synthetic:
            names = (*names, node.name)
        if node.leaf is not None:
            found.append(".".join(names))
        waiting.extend((child, names) for child in reversed(node.children))
    return found


# Projection


def _project(node: SchemaNode, chosen: dict[int, Any]) -> SchemaNode:
    """A copy of `node` with the chosen children only; children that are chosen whole are shared."""
    by_position = {child.position: child for child in node.children}
    children = [
        by_position[position] if inside is None else _project(by_position[position], inside)
        for position, inside in chosen.items()
    ]
    copy = SchemaNode(node.name, node.path, node.repetition)
    for slot in SchemaNode.__slots__:
        setattr(copy, slot, getattr(node, slot))
    copy.children = tuple(children)
    # Element, key and value are one or two levels down: the repeated child, or a child of the middle level.
    near = [*children, *(grandchild for child in children for grandchild in child.children)]
    for slot in ("item", "_list_element", "_map_key", "_map_value"):
        target = getattr(node, slot)
        if target is not None:
            setattr(copy, slot, next((found for found in near if found.origin is target.origin), None))
    return copy


def _compose(before: Any, after: dict[int, Any], node: SchemaNode) -> dict[int, Any]:
    """The choice, in terms of the file's tree, that `after` makes on a tree already reduced by `before`."""
    if before is None:
        return after
    return {
        position: before[position] if inside is None else _compose(before[position], inside, node)
        for position, inside in after.items()
    }


# Logical types

_UNITS = (("MILLIS", "ms"), ("MICROS", "us"), ("NANOS", "ns"))
_ALGORITHMS = ("SPHERICAL", "VINCENTY", "THOMAS", "ANDOYER", "KARNEY")
_PLAIN_KINDS = ("STRING", "MAP", "LIST", "ENUM", "DATE", "UNKNOWN", "JSON", "BSON", "UUID", "FLOAT16", "VARIANT")

_CONVERTED: dict[int, LogicalType] = {
    0: LogicalType("STRING"),
    1: LogicalType("MAP"),
    2: LogicalType("MAP"),  # MAP_KEY_VALUE
    3: LogicalType("LIST"),
    4: LogicalType("ENUM"),
    6: LogicalType("DATE"),
    7: LogicalType("TIME", unit="ms", utc=True),
    8: LogicalType("TIME", unit="us", utc=True),
    9: LogicalType("TIMESTAMP", unit="ms", utc=True),
    10: LogicalType("TIMESTAMP", unit="us", utc=True),
    11: LogicalType("INTEGER", bits=8, signed=False),
    12: LogicalType("INTEGER", bits=16, signed=False),
    13: LogicalType("INTEGER", bits=32, signed=False),
    14: LogicalType("INTEGER", bits=64, signed=False),
    15: LogicalType("INTEGER", bits=8, signed=True),
    16: LogicalType("INTEGER", bits=16, signed=True),
    17: LogicalType("INTEGER", bits=32, signed=True),
    18: LogicalType("INTEGER", bits=64, signed=True),
    19: LogicalType("JSON"),
    20: LogicalType("BSON"),
    21: LogicalType("INTERVAL"),
}
_CONVERTED_DECIMAL = 5

_BYTES = (PhysicalType.BYTE_ARRAY,)
_ANY = tuple(PhysicalType)
# Which physical types a kind may annotate; groups are None.
_CARRIERS: dict[str, tuple[PhysicalType | None, ...]] = {
    "STRING": _BYTES,
    "ENUM": _BYTES,
    "JSON": _BYTES,
    "BSON": _BYTES,
    "GEOMETRY": _BYTES,
    "GEOGRAPHY": _BYTES,
    "MAP": (None,),
    "LIST": (None,),
    "VARIANT": (None,),
    "DECIMAL": (
        PhysicalType.INT32,
        PhysicalType.INT64,
        PhysicalType.FIXED_LEN_BYTE_ARRAY,
        PhysicalType.BYTE_ARRAY,
    ),
    "DATE": (PhysicalType.INT32,),
    "TIME": (PhysicalType.INT32, PhysicalType.INT64),
    "TIMESTAMP": (PhysicalType.INT64,),
    "INTEGER": (PhysicalType.INT32, PhysicalType.INT64),
    "UNKNOWN": _ANY,
    "UUID": (PhysicalType.FIXED_LEN_BYTE_ARRAY,),
    "FLOAT16": (PhysicalType.FIXED_LEN_BYTE_ARRAY,),
    "INTERVAL": (PhysicalType.FIXED_LEN_BYTE_ARRAY,),
}
_WIDTHS = {"UUID": 16, "FLOAT16": 2, "INTERVAL": 12}


def _fits(logical: LogicalType, physical: PhysicalType | None, type_length: int | None) -> bool:
    """Whether the annotation may stand on that physical type; otherwise it is ignored."""
    if physical not in _CARRIERS[logical.kind]:
        return False
    if logical.kind in _WIDTHS:
        return type_length == _WIDTHS[logical.kind]
    if logical.kind == "DECIMAL":
        precision, scale = logical.precision or 0, logical.scale or 0
        return precision > 0 and 0 <= scale <= precision
    if logical.kind == "TIME":
        return physical is (PhysicalType.INT32 if logical.unit == "ms" else PhysicalType.INT64)
    if logical.kind == "INTEGER":
        return logical.bits in ((64,) if physical is PhysicalType.INT64 else (8, 16, 32))
    return True


def _from_union(union: structs.LogicalTypeUnion) -> LogicalType | None:
    """The logical type of a `logicalType` field; None when it is one we do not know."""
    for kind in _PLAIN_KINDS:
        if getattr(union, kind) is not None:
            return LogicalType(kind)
    if union.DECIMAL is not None:
        return LogicalType("DECIMAL", precision=union.DECIMAL.precision, scale=union.DECIMAL.scale or 0)
    if union.INTEGER is not None:
        return LogicalType("INTEGER", bits=union.INTEGER.bitWidth, signed=bool(union.INTEGER.isSigned))
    for kind in ("TIME", "TIMESTAMP"):
        found = getattr(union, kind)
        if found is not None:
            unit = next((text for name, text in _UNITS if getattr(found.unit, name, None) is not None), None)
            return None if unit is None else LogicalType(kind, unit=unit, utc=bool(found.isAdjustedToUTC))
    for kind in ("GEOMETRY", "GEOGRAPHY"):
        found = getattr(union, kind)
        if found is not None:
            crs = None if found.crs is None else found.crs.decode("utf-8", "replace")
            algorithm = None
            if kind == "GEOGRAPHY" and found.algorithm is not None:
                known = 0 <= found.algorithm < len(_ALGORITHMS)
                algorithm = _ALGORITHMS[found.algorithm] if known else str(found.algorithm)
            return LogicalType(kind, crs=crs, algorithm=algorithm)
    return None


def _logical_type(
    element: structs.SchemaElement, physical: PhysicalType | None, type_length: int | None
) -> tuple[LogicalType | None, bool]:
    """The annotation of an element, and whether it has one that we do not know. `logicalType` wins."""
    if element.logicalType is not None:
        logical = _from_union(element.logicalType)
        if logical is None:
            return None, True
    elif element.converted_type is None:
        return None, False
    elif element.converted_type == _CONVERTED_DECIMAL:
        logical = LogicalType("DECIMAL", precision=element.precision, scale=element.scale or 0)
    else:
        found = _CONVERTED.get(element.converted_type)
        if found is None:
            return None, True
        logical = found
    return (logical, False) if _fits(logical, physical, type_length) else (None, False)


# Building

_REPETITIONS = {int(one): one for one in Repetition}
_PHYSICAL_TYPES = {int(one): one for one in PhysicalType}


def _make_node(element: structs.SchemaElement, parent: SchemaNode, file: str) -> SchemaNode:
    """The node of an element, without children."""
    # Absent fields are looked up the slow way; a wide schema has thousands of them.
    fields = element.__dict__
    raw_name = fields.get("name")
    if raw_name is None:
        raise CorruptFileError(f"{file}: schema element below '{'.'.join(parent.path)}' has no name")
    name = raw_name.decode("utf-8", "replace")
    path = (*parent.path, name)

    def corrupt(what: str) -> CorruptFileError:
        return CorruptFileError(f"{file}: column '{'.'.join(path)}': {what}")

    repetition = _REPETITIONS.get(fields.get("repetition_type", -1))
    if repetition is None:
        raise corrupt(f"repetition {element.repetition_type}, needs 0, 1 or 2")
    node = SchemaNode(name, path, repetition)
    node.field_id = fields.get("field_id")
    node.max_definition_level = parent.max_definition_level + (repetition is not Repetition.REQUIRED)
    node.max_repetition_level = parent.max_repetition_level + (repetition is Repetition.REPEATED)
    if node.max_definition_level > MAX_LEVEL:
        raise UnsupportedError(f"{file}: column '{'.'.join(path)}': nested deeper than {MAX_LEVEL} levels")
    number, child_count = fields.get("type"), fields.get("num_children")
    if number is None:
        if not child_count:
            raise corrupt("neither a physical type nor children")
    elif child_count:
        raise corrupt(f"both a physical type and {child_count} children")
    else:
        node.physical_type = _PHYSICAL_TYPES.get(number)
        if node.physical_type is None:
            raise corrupt(f"physical type {number} does not exist")
        if node.physical_type is PhysicalType.FIXED_LEN_BYTE_ARRAY:
            node.type_length = fields.get("type_length")
            if node.type_length is None or node.type_length < 0:
                raise corrupt(f"FIXED_LEN_BYTE_ARRAY has length {node.type_length}")
    if "logicalType" in fields or "converted_type" in fields:
        node.logical_type, node.unknown_logical_type = _logical_type(element, node.physical_type, node.type_length)
    return node


def build_schema(elements: Sequence[structs.SchemaElement], file: str) -> Schema:
    """The tree of a file's schema elements (depth first, each with the number of its children)."""
    if not elements:
        raise CorruptFileError(f"{file}: the schema has no elements")
    root_element = elements[0]
    root_name = b"schema" if root_element.name is None else root_element.name
    root = SchemaNode(root_name.decode("utf-8", "replace"), (), Repetition.REQUIRED)
    # Open groups, outermost first: the node, children still to come, children so far.
    open_groups: list[tuple[SchemaNode, int, list[SchemaNode]]] = []

    def open_group(node: SchemaNode, count: int | None, left: int) -> None:
        if count is None or count < 0 or count > left:
            raise CorruptFileError(f"{file}: group '{'.'.join(node.path)}' announces {count} children, {left} are left")
        if len(open_groups) >= MAX_DEPTH:
            raise UnsupportedError(f"{file}: schema is nested deeper than {MAX_DEPTH} groups")
        open_groups.append((node, count, []))

    open_group(root, root_element.num_children or 0, len(elements) - 1)
    names = 0
    position = 1
    while open_groups:
        parent, count, children = open_groups[-1]
        if len(children) == count:
            parent.children = tuple(children)
            open_groups.pop()
            continue
        if position >= len(elements):
            raise CorruptFileError(f"{file}: the schema ends inside group '{'.'.join(parent.path)}'")
        element = elements[position]
        position += 1
        node = _make_node(element, parent, file)
        names += len(node.path)
        if names > MAX_PATH_NAMES:
            raise UnsupportedError(f"{file}: the schema's paths have more than {MAX_PATH_NAMES} names together")
        node.position = len(children)
        children.append(node)
        if node.physical_type is None:
            open_group(node, element.num_children, len(elements) - position)
    if position != len(elements):
        raise CorruptFileError(f"{file}: {len(elements) - position} schema elements are left over")
    _add_layers(root)
    return Schema(root, tuple(elements))


def _is_element(repeated: SchemaNode, list_name: str) -> bool:
    """Whether the repeated child of a LIST group is the element itself and not the synthetic middle level."""
    if repeated.physical_type is not None or len(repeated.children) != 1:
        return True
    if repeated.children[0].repetition is Repetition.REPEATED:
        return True
    return repeated.name in ("array", f"{list_name}_tuple")


def _layer(
    kind: str, node: SchemaNode, above: tuple[LayerSpec, ...], valid_definition: int, item_definition: int
) -> LayerSpec:
    repeated = [layer for layer in above if layer.kind == "repeated"]
    slot_definition = repeated[-1].item_definition if repeated else 0
    return LayerSpec(kind, len(repeated), slot_definition, valid_definition, item_definition, node.path)


def _add_layers(root: SchemaNode) -> None:
    """Say of every node what it is (list, map, struct) and give every leaf its number and layers."""
    leaf_count = 0
    waiting: list[tuple[SchemaNode, tuple[LayerSpec, ...]]] = [(child, ()) for child in reversed(root.children)]
    while waiting:
        node, above = waiting.pop()
        layers = above
        level = node.max_definition_level
        if node.is_bare_repeated:
            layers = (*layers, _layer("repeated", node, layers, level - 1, level))
        if node.physical_type is None and not node.is_middle:
            only = node.children[0]
            kind = None if node.logical_type is None else node.logical_type.kind
            if kind in ("LIST", "MAP") and len(node.children) == 1 and only.repetition is Repetition.REPEATED:
                layers = (*layers, _layer("repeated", node, layers, level, only.max_definition_level))
                only.is_item = True
                if kind == "LIST":
                    _open_list(node, only)
                else:
                    _open_map(node, only)
            elif node.repetition is Repetition.OPTIONAL:
                layers = (*layers, _layer("struct", node, layers, level, 0))
        node.layers = layers[len(above) :]
        if node.physical_type is not None:
            node.leaf = Leaf(node, node.physical_type, leaf_count, layers)
            leaf_count += 1
        waiting.extend((child, layers) for child in reversed(node.children))


def _open_list(node: SchemaNode, repeated: SchemaNode) -> None:
    node.is_list = True
    repeated.is_synthetic = True
    element = repeated
    if not _is_element(repeated, node.name):
        repeated.is_middle = True
        element = repeated.children[0]
        element.is_synthetic = True
    node._list_element = node.item = element


def _open_map(node: SchemaNode, repeated: SchemaNode) -> None:
    """Key and value by position. Malformed maps name none: what is repeated is still there, as `item`."""
    node.is_map = True
    node.item = repeated
    repeated.is_synthetic = True
    if repeated.physical_type is None and len(repeated.children) <= 2:
        repeated.is_middle = True
        for child, role in zip(repeated.children, ("key", "value"), strict=False):
            child.role = role
        node._map_key = repeated.children[0]
        node._map_value = repeated.children[1] if len(repeated.children) == 2 else None
