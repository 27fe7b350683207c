import pytest
from support.shops import Shop

from millstream.local.broker import keep_broker, stop_broker


@pytest.fixture
def durable_shop(tmp_path):
    """Return an empty shop whose broker outlives the commands that are killed."""
    broker = keep_broker(tmp_path)
    yield Shop(tmp_path, broker.address)
    stop_broker(tmp_path, force=True)
