"""Avro: schemas, their columns, and values as Spark decodes and encodes them."""
