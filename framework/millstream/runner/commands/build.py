"""Builds the models of a job. Spark is only imported and started if there is something to do."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from millstream.results import RunResults
from millstream.runner.commands.model_results import Began, nothing_new, results_of
from millstream.runner.commands.up_to_date import up_to_date
from millstream.runner.values import Job, Tell

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def build(job: Job, folder: Path, tell: Tell, spark: SparkSession | None = None) -> RunResults:
    """Build the models of a job, in a given Spark session or a new one; logs go to `folder`."""
    began = Began.now()
    if spark is None and (queries := up_to_date(job, folder)):
        return results_of(job, began, queries, nothing_new(queries))
    from millstream.runner.commands.run_queries import run_queries

    return run_queries(job, folder, tell, began, spark)
