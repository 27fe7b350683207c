import pytest
from support.runs import create_topics
from support.shops import Shop

from millstream.broker import shared_broker


@pytest.fixture
def shop(tmp_path):
    with shared_broker(tmp_path) as starting:
        made = Shop(tmp_path, starting.ready().address)
        create_topics(made.bootstrap, "events", partitions=1)
        yield made
