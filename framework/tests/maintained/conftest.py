import pytest
from streaming.query_runner import QUICK
from support.runs import create_topics
from support.shops import Shop


@pytest.fixture(scope="module")
def spark(first_spark):
    """Return a session that is quick with many queries over few rows."""
    session = first_spark.newSession()
    for name, value in QUICK.items():
        session.conf.set(name, value)
    return session


@pytest.fixture
def shop(tmp_path, broker):
    project = Shop(tmp_path, broker)
    create_topics(project.bootstrap, "events", partitions=1)
    return project
