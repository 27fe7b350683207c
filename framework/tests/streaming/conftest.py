import pytest

from streaming.query_runner import QUICK, QueryRunner


@pytest.fixture(scope="module")
def spark(first_spark):
    """Return a session that is quick with many queries over few rows."""
    session = first_spark.newSession()
    for name, value in QUICK.items():
        session.conf.set(name, value)
    return session


@pytest.fixture(scope="module")
def query_runner(spark):
    return QueryRunner(spark)
