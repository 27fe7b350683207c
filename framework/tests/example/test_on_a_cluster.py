"""The example on a standalone cluster of Spark: a master and two workers, each a process."""

import pytest
from example.differing_rows import differences, piece
from example.generated import generated
from support.commands import Run, succeed
from support.runs import create_topics, send
from support.standalone import standalone

pytestmark = [pytest.mark.long, pytest.mark.filterwarnings("ignore::ResourceWarning")]

EVENTS = 1000
BITS = 20
"""Each is of less time than the shortest delay of a watermark."""


@pytest.fixture
def cluster(example):
    root, bootstrap = example
    with standalone(root, bootstrap) as workers:
        yield root, bootstrap, workers


def test_the_rows_are_those_of_one_machine_although_a_worker_dies(cluster):
    root, bootstrap, workers = cluster
    records = generated(2 * EVENTS)
    create_topics(bootstrap, *records)
    send(bootstrap, piece(records, 0, EVENTS))
    run = Run(root, "--target", "cluster")
    try:
        run.until("batch")
        # Bit by bit: a batch that finds newer records in one partition and not yet older ones in another
        # would drop those as late.
        for number in range(BITS, 2 * BITS):
            send(bootstrap, piece(records, number, EVENTS // BITS))
        run.until("batch")
        workers[1].kill()
        run.until("batch")
    finally:
        code = run.stop()
    assert code == 0, run.output[-5:]
    succeed(root, "build", "--target", "cluster")
    # A task that was lost with its worker may have sent records, which another one sends again.
    assert differences(root, bootstrap, records, "cluster", again=True) == []
