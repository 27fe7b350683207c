"""The stores of state tables: one folder for each, and what they share.

A store is a folder named in `registry.STORES`. No code outside of it knows which store it works with.

- `declaration.py`: `DECLARATION`, the store's options in a profile, and its Spark settings
- `local.py`: `locate`, its tables without Spark (the port `stores.local.LocalTables`)
- `spark`: `connect`, its tables with Spark (the port `stores.spark.SparkTables`)
- `codes.py`: `CODES`, its error codes
- `jars.toml`: the jars it needs, if any

These modules are loaded by name, since each is for another layer: reading a profile must not load a client
library, and a query without Spark must not load PySpark.
"""
