"""One broker for the tests of a process: each test's project finds it where its own would be, without topics."""

import pytest
from confluent_kafka.admin import AdminClient

from millstream.local.broker import shared_broker
from millstream.project.folders import broker_folder


@pytest.fixture(scope="session")
def broker_server(tmp_path_factory):
    with shared_broker(tmp_path_factory.mktemp("broker")) as starting:
        yield starting.ready()


@pytest.fixture
def broker(broker_server, tmp_path):
    """Make the broker, emptied, that of the project in `tmp_path`; return its address."""
    return lend(broker_server, tmp_path)


def lend(server, root):
    """Let the project in a folder find the server, without topics and consumer groups; return its address."""
    folder = broker_folder(root)
    folder.parent.mkdir(parents=True)
    folder.symlink_to(server.folder, target_is_directory=True)
    admin = AdminClient({"bootstrap.servers": server.address})
    _done(admin.delete_topics, _topics(admin))
    while _topics(admin):
        pass
    groups = admin.list_consumer_groups().result(10)
    _done(admin.delete_consumer_groups, [group.group_id for group in groups.valid])
    return server.address


def _topics(admin):
    return [name for name in admin.list_topics(timeout=10).topics if not name.startswith("__")]


def _done(remove, names):
    for future in remove(names).values() if names else ():
        future.result(10)
