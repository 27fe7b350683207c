"""What Kafka says of the topics that a rebuild would read."""

from millstream.kafka.topics import Topic, create_missing
from millstream.review.replay import Statistics, TopicFacts
from millstream.review.topic_facts import with_topic_facts


def test_a_topic_tells_what_it_keeps_and_how_many_records_it_holds(admin, name, put):
    create_missing(admin, [Topic(name, 2, 1, {"retention.ms": "86400000"})])
    put(name, *(b"x" for _ in range(7)))
    known = Statistics(
        {name: TopicFacts({"retention.ms": "1"}), "nowhere": TopicFacts({"retention.ms": "1"})}
    )
    found = with_topic_facts(admin, known, known.topics).topics
    assert (found[name].config["retention.ms"], found[name].records) == ("86400000", 7)
    assert (found["nowhere"].config, found["nowhere"].records) == ({}, 0)
