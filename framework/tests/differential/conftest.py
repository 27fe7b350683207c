import pytest


@pytest.fixture(scope="module")
def spark(first_spark):
    """Return a session for many queries over few rows."""
    session = first_spark.newSession()
    session.conf.set("spark.sql.shuffle.partitions", "1")
    session.conf.set("spark.sql.adaptive.enabled", "false")
    # Compiling a query to bytecode would take far longer than running it.
    session.conf.set("spark.sql.codegen.wholeStage", "false")
    session.conf.set("spark.sql.codegen.factoryMode", "NO_CODEGEN")
    # The projects' Python function in Spark's own words: what is tested is where it is called, not how.
    session.sql(
        "create temporary function score(type string, value double) returns double "
        "return coalesce(value, 0D) * case when type = 'a' then 2 else 1 end"
    )
    return session
