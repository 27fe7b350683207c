"""Records as Debezium's connectors write them; `CUSTOMER` and the sources are those of its documentation."""

import base64
import json
from pathlib import Path

CUSTOMER = {"id": 1, "first_name": "Anne", "last_name": "Kretchmar", "email": "annek@noanswer.org"}
POSTGRES = {
    "version": "3.2.0.Final",
    "connector": "postgresql",
    "name": "PostgreSQL_server",
    "ts_ms": 1559033904863,
    "ts_us": 1559033904863123,
    "ts_ns": 1559033904863123000,
    "snapshot": True,
    "db": "postgres",
    "sequence": '["24023119","24023128"]',
    "schema": "public",
    "table": "customers",
    "txId": 555,
    "lsn": 24023128,
    "xmin": None,
}
MYSQL = {
    "version": "3.2.0.Final",
    "connector": "mysql",
    "name": "mysql-server-1",
    "ts_ms": 1465581029100,
    "ts_us": 1465581029100000,
    "ts_ns": 1465581029100000000,
    "snapshot": False,
    "db": "inventory",
    "table": "customers",
    "server_id": 223344,
    "gtid": None,
    "file": "mysql-bin.000003",
    "pos": 484,
    "row": 0,
    "thread": 7,
    "query": "UPDATE customers SET first_name='Anne Marie' WHERE id=1004",
}


def change(op, after=None, before=None, source=POSTGRES, **more):
    """Return the envelope of a change."""
    return {
        "before": before,
        "after": after,
        "source": source,
        "transaction": None,
        "op": op,
        "ts_ms": 1559033904863,
        "ts_us": 1559033904863841,
        "ts_ns": 1559033904863841257,
        **more,
    }


def field(name, type_, meaning=None, *, optional=True, **parameters):
    """Return the schema of a column, as Kafka Connect's converter writes it."""
    schema = {"type": type_, "optional": optional}
    if meaning:
        schema |= {"name": meaning, "version": 1}
    if parameters:
        schema["parameters"] = {key: str(value) for key, value in parameters.items()}
    return schema | {"field": name}


def with_schema(payload, *columns):
    """Return a change with its schema."""
    row = {"type": "struct", "fields": list(columns), "optional": True, "name": "inventory.customers.Value"}
    fields = [row | {"field": "before"}, row | {"field": "after"}, field("op", "string", optional=False)]
    return {
        "schema": {
            "type": "struct",
            "fields": fields,
            "optional": False,
            "name": "inventory.customers.Envelope",
        },
        "payload": payload,
    }


def key_with_schema(payload, *columns):
    schema = {"type": "struct", "fields": list(columns), "optional": False, "name": "inventory.customers.Key"}
    return {"schema": schema, "payload": payload}


def digits(number, scale):
    """Return the digits of a decimal as Kafka Connect's `Decimal` has them."""
    unscaled = int(number.scaleb(scale))
    size = unscaled.bit_length() // 8 + 1
    return base64.b64encode(unscaled.to_bytes(size, "big", signed=True)).decode()


def text(value):
    return None if value is None else json.dumps(value, separators=(",", ":"))


RECORDED = Path(__file__).parent / "debezium_records"


class Recorded:
    """What a connector wrote; `benchmarks/debezium/record.py` made the files."""

    def __init__(self, name):
        content = json.loads((RECORDED / f"{name}.json").read_text())
        self.rows, self.schemas, self.records = content["rows"], content["schemas"], content["records"]

    def of(self, table):
        """Return the records of a table, in order."""
        return [record for record in self.records if record["topic"].endswith(f".{table}")]

    def in_json(self, part, *, schemas):
        """Return a key or a value as Kafka Connect's JSON converter writes it, with its schema or without."""
        if part is None:
            return None
        return text(
            {"schema": self.schemas[part["schema"]], "payload": part["payload"]}
            if schemas
            else part["payload"]
        )

    def avro_schema(self, record, part):
        return json.dumps(self.schemas[record[f"avro_{part}"]["schema"]])


def avro_bytes(part):
    return None if part is None else base64.b64decode(part["bytes"])
