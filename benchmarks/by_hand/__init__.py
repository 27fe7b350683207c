"""Pipelines as a careful engineer writes them in plain PySpark: one streaming query for each result.

A session needs the Kafka connector, UTC as its time zone, and for the example Delta's extension and catalog; topics
must be there. Bytes that are no JSON become rows of NULLs, which every query here filters away: nobody is told of
them, and there are no dead letters.
"""
