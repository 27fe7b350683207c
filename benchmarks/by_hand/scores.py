"""The user's scoring functions for Spark, called over Arrow batches."""

import runpy
from pathlib import Path

from pyspark.sql.functions import udf
from pyspark.sql.types import DoubleType

# Not imported as a module, which Spark's workers would have to find: so the functions travel with the query.
_FUNCTIONS = runpy.run_path(str(Path(__file__).parents[2] / "macros/scores.py"))

calculate_score = udf(_FUNCTIONS["calculate_score"], DoubleType(), useArrow=True)
calculate_complex_score = udf(_FUNCTIONS["calculate_complex_score"], DoubleType(), useArrow=True)
