"""The schema tree: list and map rules, layers, logical types, names, projections, and what it refuses."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from hardwood_jit.errors import ColumnNotFoundError, CorruptFileError, UnsupportedError
from hardwood_jit.metadata import structs
from hardwood_jit.metadata.schema import LayerSpec, Schema, build_schema
from hardwood_jit.physical import LogicalType, PhysicalType, Repetition
from tests.support import pages as p
from tests.support.pages import OPTIONAL, REPEATED, REQUIRED, Node, group, leaf, list_group, logical, map_group


def schema_of(*children: Node) -> Schema:
    raw = p.list_of(group("schema", *children).elements(is_root=True), p.STRUCT).encode()
    return build_schema(structs.decode_list(structs.SchemaElement, raw), "test")


def layers(schema: Schema, leaf_number: int = 0) -> list[tuple[str, int, int, int, int]]:
    return [
        (layer.kind, layer.slot_repetition, layer.slot_definition, layer.valid_definition, layer.item_definition)
        for layer in schema.leaves[leaf_number].layers
    ]


# Layers


def test_flat_columns_have_no_layers() -> None:
    schema = schema_of(leaf("a", p.INT32), leaf("b", p.INT64, OPTIONAL))
    assert [leaf_.layers for leaf_ in schema.leaves] == [(), ()]
    assert [(one.max_definition_level, one.max_repetition_level, one.nullable) for one in schema.leaves] == [
        (0, 0, False),
        (1, 0, True),
    ]


def test_optional_list_of_optional_elements_is_one_repeated_layer() -> None:
    schema = schema_of(list_group("a", leaf("element", p.INT32, OPTIONAL)))
    # definition 0: null, 1: empty, 2: null element, 3: a value
    assert layers(schema) == [("repeated", 0, 0, 1, 2)]
    assert schema.leaves[0].slot_definition == 2 and schema.leaves[0].max_definition_level == 3
    node = schema["a"]
    assert node.is_list and not node.is_struct and node.list_element is node["list"]["element"]
    assert node.item is node.list_element


def test_required_list_is_never_null_but_may_be_empty() -> None:
    schema = schema_of(list_group("a", leaf("element", p.INT32), repetition=REQUIRED))
    assert layers(schema) == [("repeated", 0, 0, 0, 1)]
    assert not schema.leaves[0].layers[0].nullable and not schema.leaves[0].nullable


def test_list_of_lists_has_a_layer_for_each() -> None:
    schema = schema_of(list_group("a", list_group("element", leaf("element", p.INT32, OPTIONAL))))
    assert layers(schema) == [("repeated", 0, 0, 1, 2), ("repeated", 1, 2, 3, 4)]
    assert schema.leaves[0].slot_definition == 4


def test_optional_struct_around_a_list_is_a_struct_layer() -> None:
    schema = schema_of(group("s", list_group("a", leaf("element", p.INT32)), repetition=OPTIONAL))
    assert layers(schema) == [("struct", 0, 0, 1, 0), ("repeated", 0, 0, 2, 3)]
    assert schema["s"].is_struct


def test_required_list_below_an_optional_struct_shows_the_structs_nulls() -> None:
    schema = schema_of(
        group("s", list_group("a", leaf("element", p.INT32), repetition=REQUIRED), repetition=OPTIONAL)
    )
    assert layers(schema) == [("struct", 0, 0, 1, 0), ("repeated", 0, 0, 1, 2)]
    assert schema.leaves[0].layers[1].nullable


def test_optional_struct_inside_a_list_counts_from_the_items() -> None:
    schema = schema_of(list_group("a", group("element", leaf("x", p.INT32, OPTIONAL), repetition=OPTIONAL)))
    assert layers(schema) == [("repeated", 0, 0, 1, 2), ("struct", 1, 2, 3, 0)]
    assert schema.leaves[0].slot_definition == 2


def test_required_groups_add_no_layer() -> None:
    schema = schema_of(group("s", group("t", leaf("x", p.INT32))))
    assert layers(schema) == [] and schema.leaves[0].dotted == "s.t.x"


def test_unannotated_repeated_fields_are_required_lists_of_required_elements() -> None:
    schema = schema_of(group("s", leaf("x", p.INT32, REPEATED), repetition=OPTIONAL), leaf("y", p.INT32, REPEATED))
    assert layers(schema, 0) == [("struct", 0, 0, 1, 0), ("repeated", 0, 0, 1, 2)]
    assert layers(schema, 1) == [("repeated", 0, 0, 0, 1)]
    assert schema["y"].is_bare_repeated and not schema["y"].is_list and not schema.leaves[1].layers[0].nullable


def test_unannotated_repeated_group_is_a_list_of_structs() -> None:
    schema = schema_of(group("s", leaf("x", p.INT32, OPTIONAL), leaf("y", p.INT32), repetition=REPEATED))
    assert layers(schema, 0) == layers(schema, 1) == [("repeated", 0, 0, 0, 1)]
    assert schema["s"].is_struct and schema["s"].is_bare_repeated


def test_repeated_list_group_has_two_layers() -> None:
    schema = schema_of(list_group("a", leaf("element", p.INT32), repetition=REPEATED))
    assert layers(schema) == [("repeated", 0, 0, 0, 1), ("repeated", 1, 1, 1, 2)]


# List element rules, in the order of the specification


@pytest.mark.parametrize(
    ("repeated", "element_path"),
    [
        (leaf("element", p.INT32, REPEATED), ("a", "element")),
        (group("element", leaf("x", p.INT32), leaf("y", p.INT32), repetition=REPEATED), ("a", "element")),
        (group("list", leaf("x", p.INT32, REPEATED), repetition=REPEATED), ("a", "list")),
        (group("array", leaf("x", p.INT32), repetition=REPEATED), ("a", "array")),
        (group("a_tuple", leaf("x", p.INT32), repetition=REPEATED), ("a", "a_tuple")),
        (group("b_tuple", leaf("x", p.INT32), repetition=REPEATED), ("a", "b_tuple", "x")),
        (group("bag", leaf("array_element", p.INT32, OPTIONAL), repetition=REPEATED), ("a", "bag", "array_element")),
        (group("list", leaf("element", p.INT32), repetition=REPEATED), ("a", "list", "element")),
    ],
)
@pytest.mark.parametrize("converted_only", [True, False])
def test_list_element_rules(repeated: Node, element_path: tuple[str, ...], converted_only: bool) -> None:
    annotation: dict[str, Any] = {"converted": p.CONVERTED_LIST} if converted_only else {"logical": logical("LIST")}
    schema = schema_of(group("a", repeated, repetition=OPTIONAL, **annotation))
    node = schema["a"]
    assert node.is_list and node.list_element is not None and node.list_element.path == element_path
    for one in schema.leaves:
        assert sum(layer.kind == "repeated" for layer in one.layers) == one.max_repetition_level


def test_legacy_list_of_lists_with_repeated_groups() -> None:
    inner = group("array", leaf("array", p.INT32, REPEATED), repetition=REPEATED, converted=p.CONVERTED_LIST)
    schema = schema_of(group("a", inner, repetition=OPTIONAL, converted=p.CONVERTED_LIST))
    assert layers(schema) == [("repeated", 0, 0, 1, 2), ("repeated", 1, 2, 2, 3)]
    outer = schema["a"]
    assert outer.list_element is not None and outer.list_element.is_list
    assert not outer.list_element.is_bare_repeated


def test_annotated_group_whose_only_child_is_not_repeated_is_a_plain_group() -> None:
    for annotation in ("LIST", "MAP"):
        schema = schema_of(group("a", leaf("x", p.INT32), repetition=OPTIONAL, logical=logical(annotation)))
        assert schema["a"].is_struct and layers(schema) == [("struct", 0, 0, 1, 0)]
        two = schema_of(
            group("a", leaf("x", p.INT32, REPEATED), leaf("y", p.INT32), repetition=OPTIONAL, logical=logical("LIST"))
        )
        assert two["a"].is_struct and layers(two, 0) == [("struct", 0, 0, 1, 0), ("repeated", 0, 0, 1, 2)]


# Maps


@pytest.mark.parametrize("converted", [p.CONVERTED_MAP, p.MAP_KEY_VALUE])
def test_maps_take_key_and_value_by_position(converted: int) -> None:
    schema = schema_of(
        map_group("m", leaf("first", p.BYTE_ARRAY), leaf("second", p.INT32, OPTIONAL), converted=converted)
    )
    node = schema["m"]
    assert node.is_map and node.map_key is not None and node.map_value is not None
    assert (node.map_key.name, node.map_value.name) == ("first", "second")
    assert layers(schema, 0) == layers(schema, 1) == [("repeated", 0, 0, 1, 2)]
    assert schema.resolve("m.key").name == "first" and schema.resolve("m.value").name == "second"


def test_key_only_maps_are_legal() -> None:
    node = schema_of(map_group("m", leaf("key", p.BYTE_ARRAY), None))["m"]
    assert node.is_map and node.map_key is not None and node.map_value is None


def test_malformed_maps_have_neither_key_nor_value_but_keep_their_layer() -> None:
    three = group("kv", leaf("a", p.INT32), leaf("b", p.INT32), leaf("c", p.INT32), repetition=REPEATED)
    for repeated in (leaf("key", p.INT32, REPEATED), three):
        schema = schema_of(group("m", repeated, repetition=OPTIONAL, logical=logical("MAP")))
        node = schema["m"]
        assert node.is_map and node.map_key is None and node.map_value is None
        assert node.item is node.children[0]
        for number in range(len(schema.leaves)):
            assert layers(schema, number) == [("repeated", 0, 0, 1, 2)]


def test_inner_map_key_value_annotation_changes_nothing() -> None:
    inner = group(
        "map", leaf("key", p.BYTE_ARRAY), leaf("value", p.INT32), repetition=REPEATED, converted=p.MAP_KEY_VALUE
    )
    schema = schema_of(group("m", inner, repetition=OPTIONAL, converted=p.CONVERTED_MAP))
    assert schema["m"].is_map and schema["m"]["map"].is_middle and not schema["m"]["map"].is_map


# Logical types


@pytest.mark.parametrize(
    ("node", "kind"),
    [
        (leaf("x", p.BYTE_ARRAY, converted=p.UTF8), LogicalType("STRING")),
        (leaf("x", p.BYTE_ARRAY, converted=p.ENUM), LogicalType("ENUM")),
        (leaf("x", p.BYTE_ARRAY, converted=p.JSON), LogicalType("JSON")),
        (leaf("x", p.BYTE_ARRAY, converted=p.BSON), LogicalType("BSON")),
        (leaf("x", p.FLBA, type_length=12, converted=p.INTERVAL), LogicalType("INTERVAL")),
        (leaf("x", p.INT32, converted=p.DATE), LogicalType("DATE")),
        (leaf("x", p.INT32, converted=p.TIME_MILLIS), LogicalType("TIME", unit="ms", utc=True)),
        (leaf("x", p.INT64, converted=p.TIME_MICROS), LogicalType("TIME", unit="us", utc=True)),
        (leaf("x", p.INT64, converted=p.TIMESTAMP_MILLIS), LogicalType("TIMESTAMP", unit="ms", utc=True)),
        (leaf("x", p.INT64, converted=p.TIMESTAMP_MICROS), LogicalType("TIMESTAMP", unit="us", utc=True)),
        (leaf("x", p.INT32, converted=p.UINT_8), LogicalType("INTEGER", bits=8, signed=False)),
        (leaf("x", p.INT64, converted=p.INT_64), LogicalType("INTEGER", bits=64, signed=True)),
        (
            leaf("x", p.INT32, converted=p.DECIMAL, precision=9, scale=2),
            LogicalType("DECIMAL", precision=9, scale=2),
        ),
        (leaf("x", p.INT64, converted=p.DECIMAL, precision=5), LogicalType("DECIMAL", precision=5, scale=0)),
        (leaf("x", p.BYTE_ARRAY, logical=logical("STRING")), LogicalType("STRING")),
        (
            leaf("x", p.FLBA, type_length=4, logical=logical("DECIMAL", precision=9, scale=9)),
            LogicalType("DECIMAL", precision=9, scale=9),
        ),
        (
            leaf("x", p.INT64, logical=logical("TIMESTAMP", unit="ns", utc=False)),
            LogicalType("TIMESTAMP", unit="ns", utc=False),
        ),
        (leaf("x", p.INT64, logical=logical("TIME", unit="ns", utc=True)), LogicalType("TIME", unit="ns", utc=True)),
        (
            leaf("x", p.INT32, logical=logical("INTEGER", bits=16, signed=False)),
            LogicalType("INTEGER", bits=16, signed=False),
        ),
        (leaf("x", p.FLBA, type_length=16, logical=logical("UUID")), LogicalType("UUID")),
        (leaf("x", p.FLBA, type_length=2, logical=logical("FLOAT16")), LogicalType("FLOAT16")),
        (leaf("x", p.INT32, logical=logical("UNKNOWN")), LogicalType("UNKNOWN")),
        (leaf("x", p.BYTE_ARRAY, logical=logical("GEOMETRY", crs="A:1")), LogicalType("GEOMETRY", crs="A:1")),
        # logicalType wins over converted_type
        (
            leaf("x", p.INT64, converted=p.TIMESTAMP_MILLIS, logical=logical("TIMESTAMP", unit="us", utc=False)),
            LogicalType("TIMESTAMP", unit="us", utc=False),
        ),
    ],
)
def test_annotations_become_logical_types(node: Node, kind: LogicalType) -> None:
    only = schema_of(node).leaves[0]
    assert only.logical_type == kind and not only.unknown_logical_type


@pytest.mark.parametrize(
    "node",
    [
        leaf("x", p.INT32, converted=p.UTF8),
        leaf("x", p.BOOLEAN, logical=logical("DECIMAL", precision=4, scale=1)),
        leaf("x", p.INT32, logical=logical("DECIMAL", precision=0, scale=0)),
        leaf("x", p.INT32, logical=logical("DECIMAL", precision=3, scale=4)),
        leaf("x", p.INT32, logical=logical("DECIMAL", precision=3, scale=-1)),
        leaf("x", p.INT32, converted=p.DECIMAL),
        leaf("x", p.FLBA, type_length=15, logical=logical("UUID")),
        leaf("x", p.FLBA, type_length=4, logical=logical("FLOAT16")),
        leaf("x", p.FLBA, type_length=11, converted=p.INTERVAL),
        leaf("x", p.INT64, converted=p.DATE),
        leaf("x", p.INT32, logical=logical("TIMESTAMP", unit="ms", utc=True)),
        leaf("x", p.INT32, logical=logical("TIME", unit="us", utc=True)),
        leaf("x", p.INT64, logical=logical("INTEGER", bits=8, signed=True)),
        leaf("x", p.INT32, logical=logical("INTEGER", bits=7, signed=True)),
        leaf("x", p.INT32, logical=logical("LIST")),
        group("x", leaf("y", p.INT32), logical=logical("STRING")),
    ],
)
def test_annotations_that_do_not_fit_their_type_are_ignored(node: Node) -> None:
    found = schema_of(node)["x"]
    assert found.logical_type is None and not found.unknown_logical_type


def test_unknown_annotations_are_ignored_and_remembered() -> None:
    future = schema_of(leaf("x", p.BYTE_ARRAY, logical=logical("FUTURE", number=30), converted=p.UTF8)).leaves[0]
    assert future.logical_type is None and future.unknown_logical_type
    assert schema_of(leaf("x", p.BYTE_ARRAY, converted=77)).leaves[0].unknown_logical_type


# Names


@pytest.fixture
def wide() -> Schema:
    return schema_of(
        leaf("id", p.INT64),
        leaf("a.b", p.INT32),
        group("a", leaf("b", p.INT32), leaf("c.d", p.INT32), repetition=OPTIONAL),
        list_group("tags", leaf("element", p.BYTE_ARRAY, OPTIONAL, converted=p.UTF8)),
        list_group("items", group("element", leaf("price", p.DOUBLE_TYPE), leaf("name", p.BYTE_ARRAY))),
        map_group("m", leaf("key", p.BYTE_ARRAY), group("value", leaf("x", p.INT32), leaf("y", p.INT32))),
        list_group("grid", list_group("element", leaf("element", p.FLOAT))),
    )


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("id", ("id",)),
        ("a.b", ("a.b",)),
        (("a", "b"), ("a", "b")),
        ("a", ("a",)),
        ("a.c.d", ("a", "c.d")),
        ("tags", ("tags",)),
        ("tags.list.element", ("tags", "list", "element")),
        ("tags.element", ("tags", "list", "element")),
        ("tags.list", ("tags", "list")),
        ("items.price", ("items", "list", "element", "price")),
        ("items.element.name", ("items", "list", "element", "name")),
        ("items.list.element.price", ("items", "list", "element", "price")),
        ("m.key", ("m", "key_value", "key")),
        ("m.value", ("m", "key_value", "value")),
        ("m.value.y", ("m", "key_value", "value", "y")),
        ("m.key_value.value.x", ("m", "key_value", "value", "x")),
        ("grid", ("grid",)),
        ("grid.list.element", ("grid", "list", "element")),
        (("grid", "list", "element", "list", "element"), ("grid", "list", "element", "list", "element")),
    ],
)
def test_columns_resolve(wide: Schema, name: str | tuple[str, ...], path: tuple[str, ...]) -> None:
    assert wide.resolve(name).path == path


@pytest.mark.parametrize(
    "name", ["ID", "a.x", "tags.nothing", "", "a.", ".a", ("tags", "element"), (), "m.keys", "id.x"]
)
def test_unknown_columns_are_not_found(wide: Schema, name: str | tuple[str, ...]) -> None:
    with pytest.raises(ColumnNotFoundError):
        wide.resolve(name)


def test_the_message_names_close_matches(wide: Schema) -> None:
    with pytest.raises(ColumnNotFoundError, match=r"no column 'items.prise'; close: .*'items.price'"):
        wide.resolve("items.prise")
    with pytest.raises(ColumnNotFoundError, match="close: 'price'"):
        wide["items"]["list"]["element"]["prize"]


def test_leaf_positions_by_long_and_short_name(wide: Schema) -> None:
    for position, one in enumerate(wide.leaves):
        if one.dotted != "a.b":  # two leaves have this text; the first wins
            assert wide.leaf_position(one.dotted) == position
    assert wide.leaf_position("a.b") == 1 and wide.leaf_position(("a", "b")) == 2
    assert wide.leaves[wide.leaf_position("tags")].dotted == "tags.list.element"
    assert wide.leaves[wide.leaf_position("grid")].dotted == "grid.list.element.list.element"
    assert wide.leaves[wide.leaf_position("items.price")].path[-1] == "price"
    with pytest.raises(ColumnNotFoundError, match="is a group"):
        wide.leaf_position("items")
    with pytest.raises(ColumnNotFoundError):
        wide.leaf_position("nothing")


def test_other_kinds_of_names_are_a_type_error(wide: Schema) -> None:
    with pytest.raises(TypeError, match="not int"):
        wide.resolve(3)  # type: ignore[arg-type]


# Projections


def paths(schema: Schema) -> list[str]:
    return [one.dotted for one in schema.leaves]


def test_selection_keeps_the_order_asked_and_the_files_leaf_numbers(wide: Schema) -> None:
    chosen = wide.select(["tags", "id"])
    assert paths(chosen) == ["tags.list.element", "id"]
    assert [one.index for one in chosen.leaves] == [4, 0]
    assert chosen["id"] is wide["id"] and len(chosen) == 2


def test_children_of_one_group_stand_at_the_place_of_the_first(wide: Schema) -> None:
    chosen = wide.select(["items.name", "id", "items.price", "m.value.y"])
    assert paths(chosen) == [
        "items.list.element.name",
        "items.list.element.price",
        "id",
        "m.key_value.value.y",
    ]
    assert [child.name for child in chosen] == ["items", "id", "m"]


def test_covered_columns_are_no_duplicates(wide: Schema) -> None:
    assert paths(wide.select(["a", ("a", "b"), "a"])) == paths(wide.select(["a"])) == ["a.b", "a.c.d"]
    assert paths(wide.select([("a", "c.d"), "a"])) == ["a.b", "a.c.d"]
    assert paths(wide.select(["id", "id"])) == ["id"]


def test_partly_selected_lists_and_maps_keep_what_they_are(wide: Schema) -> None:
    chosen = wide.select(["items.price", "m.key"])
    items, entries = chosen["items"], chosen["m"]
    assert items.is_list and items.list_element is items["list"]["element"]
    assert [child.name for child in items["list"]["element"]] == ["price"]
    assert entries.is_map and entries.map_key is wide["m"].map_key and entries.map_value is None
    assert entries.origin is wide["m"] and entries.origin.map_value is not None
    assert chosen.leaves[0].layers == wide.leaves[5].layers


def test_a_projection_can_be_narrowed_again_and_pickled(wide: Schema) -> None:
    first = wide.select(["m", "items", "id"])
    second = first.select(["items.name", "m.value"])
    for schema in (wide, first, second):
        again = pickle.loads(pickle.dumps(schema))
        assert str(again) == str(schema)
        assert [one.index for one in again.leaves] == [one.index for one in schema.leaves]
        assert [one.layers for one in again.leaves] == [one.layers for one in schema.leaves]
    with pytest.raises(ColumnNotFoundError):
        second.resolve("items.price")


def test_selecting_nothing_and_selecting_unknown_columns(wide: Schema) -> None:
    assert paths(wide.select([])) == []
    with pytest.raises(ColumnNotFoundError, match="'idd'; close: 'id'"):
        wide.select(["id", "idd"])


def test_siblings_may_share_a_name() -> None:
    schema = schema_of(leaf("x", p.INT32), leaf("x", p.INT64), leaf("y", p.INT32))
    assert [one.index for one in schema.leaves] == [0, 1, 2]
    assert schema.resolve("x") is schema.children[0]
    assert [one.index for one in schema.select(["y", "x"]).leaves] == [2, 0]


# Text


def test_schema_prints_as_a_message_type(wide: Schema) -> None:
    text = str(wide.select(["id", "tags", "items.price"]))
    assert text.splitlines() == [
        "message schema {",
        "  required int64 id;",
        "  optional group tags (LIST) {",
        "    repeated group list {",
        "      optional binary element (STRING);",
        "    }",
        "  }",
        "  optional group items (LIST) {",
        "    repeated group list {",
        "      required group element {",
        "        required double price;",
        "      }",
        "    }",
        "  }",
        "}",
    ]
    typed = schema_of(leaf("u", p.FLBA, OPTIONAL, type_length=16, logical=logical("UUID"), field_id=7))
    assert str(typed["u"]) == "optional fixed_len_byte_array(16) u (UUID) = 7;"
    assert typed["u"].field_id == 7 and typed["u"].repetition is Repetition.OPTIONAL
    assert typed.leaves[0].physical_type is PhysicalType.FIXED_LEN_BYTE_ARRAY


# Refusals


def element(**fields: Any) -> structs.SchemaElement:
    return structs.SchemaElement(**fields)


@pytest.mark.parametrize(
    "elements",
    [
        [],
        [element(name=b"r", num_children=1)],
        [element(name=b"r", num_children=-1)],
        [element(name=b"r", num_children=1 << 30)],
        [element(name=b"r", num_children=0), element(name=b"x", type=1, repetition_type=0)],
        [element(name=b"r", num_children=1), element(type=1, repetition_type=0)],
        [element(name=b"r", num_children=1), element(name=b"x", type=8, repetition_type=0)],
        [element(name=b"r", num_children=1), element(name=b"x", type=-7, repetition_type=0)],
        [element(name=b"r", num_children=1), element(name=b"x", type=1, repetition_type=3)],
        [element(name=b"r", num_children=1), element(name=b"x", type=1)],
        [element(name=b"r", num_children=1), element(name=b"x", repetition_type=0)],
        [element(name=b"r", num_children=1), element(name=b"x", repetition_type=0, num_children=0)],
        [element(name=b"r", num_children=1), element(name=b"x", type=7, repetition_type=0)],
        [element(name=b"r", num_children=1), element(name=b"x", type=7, type_length=-1, repetition_type=0)],
        [element(name=b"r", num_children=1), element(name=b"x", type=1, repetition_type=0, num_children=2)],
    ],
)
def test_malformed_schemas_are_corrupt(elements: list[structs.SchemaElement]) -> None:
    with pytest.raises(CorruptFileError, match="file: "):
        build_schema(elements, "file")


def nested(depth: int, repetition: int) -> list[structs.SchemaElement]:
    middle = [element(name=b"g", repetition_type=repetition, num_children=1) for _ in range(depth)]
    return [element(name=b"r", num_children=1), *middle, element(name=b"x", type=1, repetition_type=0)]


def test_deep_schemas_are_read_up_to_a_limit() -> None:
    schema = build_schema(nested(250, OPTIONAL), "file")
    assert schema.leaves[0].max_definition_level == 250 and len(schema.leaves[0].layers) == 250
    assert str(schema).count("optional group g {") == 250
    assert len(schema.select([schema.leaves[0].path]).leaves) == 1
    for depth, repetition in ((256, OPTIONAL), (256, REQUIRED), (100_000, REPEATED)):
        with pytest.raises(UnsupportedError, match="deeper than 255"):
            build_schema(nested(depth, repetition), "file")


def test_a_wide_and_deep_schema_does_not_eat_the_memory() -> None:
    leaves = [element(name=b"x", type=1, repetition_type=0) for _ in range(40_000)]
    elements = nested(200, REQUIRED)
    elements[-2] = element(name=b"g", repetition_type=0, num_children=len(leaves))
    with pytest.raises(UnsupportedError, match="names together"):
        build_schema([*elements[:-1], *leaves], "file")


def test_names_that_are_not_utf8_are_kept_readable() -> None:
    schema = build_schema(
        [element(name=b"r", num_children=1), element(name=b"\xff\xfe", type=1, repetition_type=0)], "file"
    )
    assert schema.leaves[0].dotted == "\N{REPLACEMENT CHARACTER}" * 2


def test_layer_specs_are_plain_values() -> None:
    one = LayerSpec("struct", 0, 0, 1, 0, ("a",))
    assert one == LayerSpec("struct", 0, 0, 1, 0, ("a",)) and one.nullable and hash(one) is not None
