"""What Kafka says of the topics that a rebuild would read."""

from millstream.kafka.topics import TopicConfig, create_missing
from millstream.review.rebuild_cost import ReplayFigures, TopicFacts
from millstream.review.topic_facts import with_topic_facts


def test_a_topic_tells_what_it_keeps_and_how_many_records_it_holds(admin, name, put):
    create_missing(admin, [TopicConfig(name, 2, 1, {"retention.ms": "86400000"})])
    put(name, *(b"x" for _ in range(7)))
    statistics = ReplayFigures(
        {name: TopicFacts({"retention.ms": "1"}), "nowhere": TopicFacts({"retention.ms": "1"})}
    )
    topics = with_topic_facts(admin, statistics, statistics.topics).topics
    assert (topics[name].config["retention.ms"], topics[name].records) == ("86400000", 7)
    assert (topics["nowhere"].config, topics["nowhere"].records) == ({}, 0)
