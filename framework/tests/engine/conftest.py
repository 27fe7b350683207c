import pytest
from support.registry import client_of
from support.runs import create_topics
from support.shops import Shop

from millstream.kafka.registry.local import registry_url, shared_registry


@pytest.fixture
def shop(tmp_path, broker):
    shop = Shop(tmp_path, broker)
    create_topics(shop.bootstrap, "events", partitions=1)
    return shop


@pytest.fixture
def registry(shop):
    """A client of a registry that a shop's project uses."""
    with (
        shared_registry(shop.root, {}) as server,
        client_of(registry_url(server.address)) as client,
    ):
        yield client
