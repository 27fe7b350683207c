package millstream.kafka;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.Random;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.header.Header;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

final class SizeLimitTest {
  private static ProducerRecord<byte[], byte[]> record(int key, int value) {
    byte[] bytes = new byte[value];
    new Random(1).nextBytes(bytes);
    return new ProducerRecord<>("orders", null, 1L, new byte[key], bytes);
  }

  private static SizeLimit limit(String most, String compression, String fate) {
    String line = String.join("\t", "orders", most, compression, fate, "letters", "orders_model");
    return SizeLimit.of(line, Map.of("kafka.compression.type", "lz4"));
  }

  @Test
  void compressionByTheTopicCounts() {
    ProducerRecord<byte[], byte[]> zeros =
        new ProducerRecord<>("orders", null, 1L, null, new byte[50_000]);
    assertTrue(limit("10000", "producer", "skip").accepts(zeros));
    assertFalse(limit("10000", "uncompressed", "skip").accepts(zeros));
    assertFalse(limit("10000", "producer", "skip").accepts(record(1, 50_000)));
  }

  @ParameterizedTest
  @CsvSource({"10, 50000", "50000, 10", "50000, 50000", "0, 10001"})
  void whatIsCutFits(int key, int value) {
    SizeLimit limit = limit("10000", "", "cut");
    ProducerRecord<byte[], byte[]> cut = limit.cut(record(key, value));
    assertTrue(limit.accepts(cut));
    Header size = cut.headers().lastHeader("millstream.cut");
    assertEquals(Integer.toString(key + value), new String(size.value(), StandardCharsets.UTF_8));
  }

  @Test
  void deadLettersSayWhereTheRecordComesFrom() {
    ProducerRecord<byte[], byte[]> record = record(1, 20_000);
    record.headers().add("millstream.position", "my-topic-0-3-12".getBytes(StandardCharsets.UTF_8));
    ProducerRecord<byte[], byte[]> letter = limit("10000", "", "dead_letter").deadLetter(record);
    assertEquals("letters", letter.topic());
    String[] names = {"millstream.topic", "millstream.partition", "millstream.offset"};
    String[] expected = {"my-topic-0", "3", "12"};
    for (int i = 0; i < names.length; i++) {
      byte[] value = letter.headers().lastHeader(names[i]).value();
      assertEquals(expected[i], new String(value, StandardCharsets.UTF_8));
    }
  }
}
