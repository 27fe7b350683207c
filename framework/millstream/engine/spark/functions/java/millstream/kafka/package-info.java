/** Records of Kafka: how rows become records, how large these can be, and how they are sent. */
package millstream.kafka;
