"""Which test runs each format in each role, on Kafka and Spark; a format without a test, or a test that is gone, fails here."""

import ast
from functools import cache
from pathlib import Path

import pytest

from millstream.formats.registry import BY_FUNCTION, NAMES

TESTS = Path(__file__).parents[1]
ROLES = ("source", "sink", "key", "dead letter", "produce and consume", "unit test", "evolution")
KAFKA = "engine/test_formats_on_kafka.py::test_from_topic_to_topic"
KEYS = "engine/test_keys_on_kafka.py::test_from_topic_to_topic"
ONE_COLUMN = "engine/test_single_sinks.py::test_columns_are_read_from_where_they_are"
REGISTERED = "engine/test_sinks_with_registry.py::test_other_software_reads_what_sinks_write"
DAMAGED = "engine/test_damaged_records.py::test_each_record_is_a_row_a_dead_letter_or_skipped"
PRODUCED = "kafka/test_produced_formats.py::test_other_software_and_consume_read_what_generators_write"
UNITS = "testing/units/test_formats_in_unit_tests.py::test_rows_in_every_format"
EVOLVED = "engine/test_evolved_records.py::test_old_and_new_records_in_one_batch"
DEBEZIUM = "engine/test_debezium_on_kafka.py::test"
FUNCTIONS = "engine/test_python_formats.py::test_bad_records_of_several_batches_are_dead_letters"


def cells(*tests):
    return dict(zip(ROLES, tests, strict=True))


NO_FIELDS = "has no fields to evolve"
MATRIX = {
    # format: a test of each role with the name of its case, or why there is none
    "json": cells(
        f"{DAMAGED} json", f"{KAFKA} json schema", f"{KEYS} json_struct", f"{DAMAGED} json", f"{PRODUCED} json",
        f"{UNITS} json", f"{EVOLVED} json",
    ),
    "json with a schema": cells(
        f"{KAFKA} json schema", f"{KAFKA} json schema", f"{KEYS} json_schema", f"{KAFKA} json schema",
        f"{PRODUCED} json_framed", f"{UNITS} json_framed", f"{EVOLVED} json_schema",
    ),
    "json, framed": cells(
        f"{DAMAGED} json_framed", f"{REGISTERED} jsons", f"{KEYS} json_framed", f"{DAMAGED} json_framed",
        f"{PRODUCED} json_framed", f"{UNITS} json_framed", f"{EVOLVED} json_framed",
    ),
    "debezium": cells(
        f"{DEBEZIUM}_tables_and_events_of_the_documentation", "is written by `emit`",
        f"{DEBEZIUM}_tables_and_events_of_the_documentation", f"{DEBEZIUM}_bad_records_are_dead_letters",
        f"{DEBEZIUM}_generated_rows_are_consumed", "testing/units/test_debezium_in_unit_tests.py::test_rows_and_what_happened_to_them",
        "engine/test_decode_debezium.py::test_schemas_change_from_record_to_record",
    ),
    "debezium, framed": cells(
        f"{DEBEZIUM}_tables_in_avro_with_a_registry", "is written by `emit`",
        f"{DEBEZIUM}_tables_in_avro_with_a_registry", f"{DEBEZIUM}_tables_in_avro_with_a_registry",
        f"{DEBEZIUM}_tables_in_avro_with_a_registry", "testing/units/test_debezium_in_unit_tests.py::test_rows_whose_key_has_two_columns",
        f"{DEBEZIUM}_tables_in_avro_with_a_registry",
    ),
    "csv": cells(
        f"{KAFKA} csv", f"{KAFKA} csv", f"{KEYS} csv", f"{DAMAGED} csv", f"{PRODUCED} csv", f"{UNITS} csv",
        f"{EVOLVED} csv",
    ),
    "xml": cells(
        f"{DAMAGED} xml", f"{KAFKA} soap", f"{KEYS} xml", f"{DAMAGED} xml", f"{PRODUCED} xml", f"{UNITS} xml",
        f"{EVOLVED} xml",
    ),
    "xml in an envelope": cells(
        f"{KAFKA} soap", f"{KAFKA} soap", f"{KEYS} soap", f"{DAMAGED} soap", f"{PRODUCED} soap", f"{UNITS} soap",
        f"{EVOLVED} soap",
    ),
    "avro": cells(
        f"{KAFKA} avro", f"{KAFKA} avro with a schema", f"{KEYS} avro_record", f"{DAMAGED} avro", f"{PRODUCED} avro",
        f"{UNITS} avro", "engine/test_random_avro.py::test_many_random_schemas",
    ),
    "avro, framed": cells(
        f"{DAMAGED} avro_framed", f"{REGISTERED} avros", f"{EVOLVED} avro_key", f"{DAMAGED} avro_framed",
        f"{PRODUCED} avro_framed", f"{UNITS} avro_framed", f"{EVOLVED} avro",
    ),
    "protobuf": cells(
        f"{KAFKA} protobuf", f"{KAFKA} protobuf", f"{KEYS} protobuf", f"{DAMAGED} protobuf", f"{PRODUCED} protobuf",
        f"{UNITS} protobuf", f"{EVOLVED} protobuf",
    ),
    "protobuf, framed": cells(
        f"{DAMAGED} protobuf_framed", f"{REGISTERED} protos", f"{KEYS} protobuf_framed", f"{DAMAGED} protobuf_framed",
        f"{PRODUCED} protobuf_framed", f"{UNITS} protobuf_framed", f"{EVOLVED} protobuf_framed",
    ),
    "string": cells(
        f"{ONE_COLUMN} texts", f"{ONE_COLUMN} texts", f"{KEYS} text", f"{DAMAGED} string", f"{PRODUCED} string",
        f"{UNITS} string", NO_FIELDS,
    ),
    "long": cells(
        f"{ONE_COLUMN} numbers", f"{ONE_COLUMN} numbers", f"{KEYS} long", f"{DAMAGED} long", f"{PRODUCED} long",
        f"{UNITS} long", NO_FIELDS,
    ),
    "binary": cells(
        f"{ONE_COLUMN} bytes", f"{ONE_COLUMN} bytes", f"{KEYS} binary", "all bytes are good", f"{PRODUCED} binary",
        f"{UNITS} binary", NO_FIELDS,
    ),
    f"{BY_FUNCTION}<function>": cells(
        FUNCTIONS, FUNCTIONS, FUNCTIONS, FUNCTIONS, f"{PRODUCED} function", f"{UNITS} function",
        f"{EVOLVED} function",
    ),
}  # fmt: skip


@cache
def parsed(path):
    """Return the functions of a file, and all texts in it."""
    tree = ast.parse((TESTS / path).read_text())
    texts = {
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}, texts


@pytest.mark.parametrize("name", MATRIX)
def test_each_cell_names_a_test_that_exists(name):
    for role, cell in MATRIX[name].items():
        path, separator, rest = cell.partition("::")
        if not separator:
            continue
        function, _, case = rest.partition(" ")
        functions, texts = parsed(path)
        assert function in functions, (role, cell)
        assert not case or case in texts, (role, cell)


def test_each_format_has_a_row():
    assert {name.partition(",")[0].partition(" ")[0] for name in MATRIX} == {
        *NAMES,
        f"{BY_FUNCTION}<function>",
    }
