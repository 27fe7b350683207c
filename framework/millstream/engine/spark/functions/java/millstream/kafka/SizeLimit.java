package millstream.kafka;

import java.io.Serializable;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.record.AbstractRecords;
import org.apache.kafka.common.record.CompressionType;
import org.apache.kafka.common.record.MemoryRecords;
import org.apache.kafka.common.record.RecordBatch;
import org.apache.kafka.common.record.SimpleRecord;

/** How large the records of a topic can be, and what happens to larger ones. */
record SizeLimit(
    String topic,
    int ofRequest,
    int ofTopic,
    CompressionType byProducer,
    CompressionType byTopic,
    Fate fate,
    String deadLetters,
    String model)
    implements Serializable {
  private static final String PREFIX = "millstream.";
  private static final String CUT = "millstream.cut";
  private static final String POSITION = "millstream.position";
  private static final int LONGEST_HEADER = 1_000;

  /** Compressing what can't be compressed makes it a little larger. */
  private static final int MARGIN = 64;

  enum Fate {
    CUT,
    SKIP,
    DEAD_LETTER
  }

  /**
   * A line has the topic, the limit and the compression that are configured for it, the fate, the
   * dead letters' topic, and the model.
   */
  static SizeLimit of(String line, Map<String, String> options) {
    String[] parts = line.split("\t", -1);
    int request =
        Math.min(
            number(options.get("kafka.max.request.size"), 1 << 20),
            number(options.get("kafka.buffer.memory"), 32 << 20));
    CompressionType compression =
        CompressionType.forName(options.getOrDefault("kafka.compression.type", "none"));
    return new SizeLimit(
        parts[0],
        request,
        number(parts[1], Integer.MAX_VALUE),
        compression,
        ofTopic(parts[2], compression),
        Fate.valueOf(parts[3].toUpperCase(Locale.ROOT)),
        parts[4],
        parts[5]);
  }

  private static int number(String text, int byDefault) {
    return text == null || text.isEmpty()
        ? byDefault
        : (int) Math.min(Long.parseLong(text), Integer.MAX_VALUE);
  }

  private static CompressionType ofTopic(String name, CompressionType byProducer) {
    return switch (name) {
      case "", "producer" -> byProducer;
      case "uncompressed" -> CompressionType.NONE;
      default -> CompressionType.forName(name);
    };
  }

  boolean accepts(ProducerRecord<byte[], byte[]> record) {
    int bytes = bound(record);
    if (bytes > ofRequest) {
      return false;
    }
    return bytes <= ofTopic
        || batch(record, byProducer) <= ofTopic
            && (byTopic == byProducer || batch(record, byTopic) <= ofTopic);
  }

  /** As KafkaProducer estimates it, which refuses a record by this. */
  private static int bound(ProducerRecord<byte[], byte[]> record) {
    return AbstractRecords.estimateSizeInBytesUpperBound(
        RecordBatch.MAGIC_VALUE_V2,
        CompressionType.NONE,
        record.key(),
        record.value(),
        record.headers().toArray());
  }

  /** The size of a batch with this record alone, by which brokers refuse it. */
  private static int batch(ProducerRecord<byte[], byte[]> record, CompressionType type) {
    long time = record.timestamp() == null ? System.currentTimeMillis() : record.timestamp();
    SimpleRecord alone =
        new SimpleRecord(time, record.key(), record.value(), record.headers().toArray());
    return MemoryRecords.withRecords(Compression.of(type).build(), alone).sizeInBytes();
  }

  /**
   * Returns a record with as much of its value as fits, and its whole size in a header. Where key
   * and headers are too large themselves, foreign headers are left out, and the key and long
   * headers are cut.
   */
  ProducerRecord<byte[], byte[]> cut(ProducerRecord<byte[], byte[]> record) {
    int limit = Math.min(ofRequest, ofTopic);
    int room = limit - limit / MARGIN;
    List<Header> headers = new ArrayList<>(List.of(record.headers().toArray()));
    byte[] key = record.key();
    headers.add(header(CUT, Integer.toString(size(record))));
    if (bound(with(record, key, null, headers)) > room) {
      headers.removeIf(header -> !header.key().startsWith(PREFIX));
      headers.replaceAll(
          header -> new RecordHeader(header.key(), first(header.value(), LONGEST_HEADER)));
      int left = room - bound(with(record, null, null, headers));
      key = first(key, Math.max(0, left / 2));
    }
    int left = room - bound(with(record, key, null, headers));
    return with(record, key, first(record.value(), Math.max(0, left)), headers);
  }

  /** Returns the dead letter of a model's record: what it is, where it comes from, and why. */
  ProducerRecord<byte[], byte[]> deadLetter(ProducerRecord<byte[], byte[]> record) {
    List<Header> headers = new ArrayList<>(List.of(record.headers().toArray()));
    Header position = record.headers().lastHeader(POSITION);
    if (position != null) {
      String[] parts =
          new String(position.value(), StandardCharsets.UTF_8).split("-(?=\\d+-\\d+$)|-(?=\\d+$)");
      headers.add(header("millstream.topic", parts[0]));
      headers.add(header("millstream.partition", parts[1]));
      headers.add(header("millstream.offset", parts[2]));
    }
    headers.add(header("millstream.model", model));
    String reason =
        String.format(
            Locale.ROOT,
            "%s: a record of %,d bytes is larger than Kafka accepts in topic %s",
            model,
            size(record),
            topic);
    headers.add(header("millstream.reason", reason));
    return new ProducerRecord<>(deadLetters, null, null, record.key(), record.value(), headers);
  }

  private static Header header(String name, String value) {
    return new RecordHeader(name, value.getBytes(StandardCharsets.UTF_8));
  }

  private static int size(ProducerRecord<byte[], byte[]> record) {
    int bytes = length(record.key()) + length(record.value());
    for (Header header : record.headers()) {
      bytes += header.key().length() + length(header.value());
    }
    return bytes;
  }

  private static int length(byte[] bytes) {
    return bytes == null ? 0 : bytes.length;
  }

  private static byte[] first(byte[] bytes, int most) {
    return bytes == null || bytes.length <= most ? bytes : Arrays.copyOf(bytes, most);
  }

  private static ProducerRecord<byte[], byte[]> with(
      ProducerRecord<byte[], byte[]> record, byte[] key, byte[] value, List<Header> headers) {
    return new ProducerRecord<>(record.topic(), null, record.timestamp(), key, value, headers);
  }
}
