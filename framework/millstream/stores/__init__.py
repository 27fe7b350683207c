"""Where state tables are kept: one folder per store, and what all stores have in common.

A store is a folder named in `registry.STORES`. No code outside of it knows which store it works with.

- `declaration.py`: `DECLARATION`, what a profile may say of the store, and what Spark needs for it
- `local.py`: `locate`, its tables without Spark (the port `stores.local.LocalTables`)
- `spark`: `connect`, its tables with Spark (the port `stores.spark.SparkTables`)
- `codes.py`: `CODES`, its error codes
- `jars.toml`: the jars it needs, if any

These modules are loaded by name, since each is for another layer: reading a profile must not load a client
library, and a query without Spark must not load PySpark.
"""
