import pytest
from support.runs import create_topics
from support.shops import Shop


@pytest.fixture
def shop(tmp_path, broker):
    made = Shop(tmp_path, broker)
    create_topics(made.bootstrap, "events", partitions=1)
    return made
