package millstream.kafka;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;
import java.util.function.UnaryOperator;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import scala.jdk.javaapi.CollectionConverters;

/**
 * The records that rows are, each with a header that all of a batch have, if one is given. Rows
 * without a topic, or with one of those that have the batch's records already, are none. {@code
 * sizes} may be null.
 */
public record Records(
    RecordColumns columns, String name, byte[] value, Set<String> without, RecordSizes sizes)
    implements RecordSource {
  private static final String HEADER = "header";
  private static final String WITHOUT = "without.topics";
  private static final String EVERY_TOPIC = "*";

  public static Records of(
      StructType schema, scala.collection.immutable.Map<String, String> options) {
    return of(RecordColumns.of(schema), CollectionConverters.asJava(options));
  }

  public static Records of(RecordColumns columns, Map<String, String> options) {
    String value = options.get(HEADER + ".value");
    String without = options.getOrDefault(WITHOUT, "");
    return new Records(
        columns,
        options.get(HEADER),
        value == null ? null : value.getBytes(StandardCharsets.UTF_8),
        without.isEmpty() ? Set.of() : Set.of(without.split(",")),
        RecordSizes.of(options));
  }

  @Override
  public void forEach(Iterator<InternalRow> rows, Consumer<ProducerRecord<byte[], byte[]>> send) {
    rows.forEachRemaining(sent(send));
  }

  /** Returns what sends the record that a row is. */
  public Consumer<InternalRow> sent(Consumer<ProducerRecord<byte[], byte[]>> send) {
    Making making = new Making(columns, name == null ? null : new RecordHeader(name, value));
    if (sizes != null) {
      return sentIfItFits(making, send);
    }
    boolean none = without.contains(EVERY_TOPIC);
    return row -> {
      if (!none && !row.isNullAt(columns.topic())) {
        String topic = making.topic(row);
        if (!without.contains(topic)) {
          send.accept(making.record(row, topic));
        }
      }
    };
  }

  /** Too large records also count if they are not sent again. */
  private Consumer<InternalRow> sentIfItFits(
      Making making, Consumer<ProducerRecord<byte[], byte[]>> send) {
    UnaryOperator<ProducerRecord<byte[], byte[]>> fitting = sizes.fitting();
    boolean none = without.contains(EVERY_TOPIC);
    return row -> {
      if (!row.isNullAt(columns.topic())) {
        ProducerRecord<byte[], byte[]> record =
            fitting.apply(making.record(row, making.topic(row)));
        if (record != null && !none && !without.contains(record.topic())) {
          send.accept(record);
        }
      }
    };
  }

  private static final class Making {
    private final RecordColumns columns;
    private final Header ofBatch;
    private final Names names = new Names();
    private ArrayData last;
    private List<Header> headers;

    Making(RecordColumns columns, Header ofBatch) {
      this.columns = columns;
      this.ofBatch = ofBatch;
      this.headers = headersOf(null);
    }

    String topic(InternalRow row) {
      return names.of(row.getUTF8String(columns.topic()));
    }

    ProducerRecord<byte[], byte[]> record(InternalRow row, String topic) {
      ArrayData array = columns.headers(row);
      if (array != last) { // several records of a row can have the same
        headers = headersOf(array);
        last = array;
      }
      return new ProducerRecord<>(
          topic, null, columns.time(row), columns.key(row), columns.value(row), headers);
    }

    private List<Header> headersOf(ArrayData array) {
      int count = array == null ? 0 : array.numElements();
      List<Header> all = new ArrayList<>(count + 1);
      for (int number = 0; number < count; number++) {
        InternalRow header = array.getStruct(number, 2);
        all.add(
            new RecordHeader(
                names.of(header.getUTF8String(0)),
                header.isNullAt(1) ? null : header.getBinary(1)));
      }
      if (ofBatch != null) {
        all.add(ofBatch);
      }
      return all;
    }
  }

  /** The names of topics and headers, of which there are few. */
  private static final class Names {
    private static final int MOST = 1_000;
    private final Map<UTF8String, String> cache = new HashMap<>();

    String of(UTF8String bytes) {
      String text = cache.get(bytes);
      if (text == null) {
        text = bytes.toString();
        if (cache.size() < MOST) {
          cache.put(bytes.copy(), text);
        }
      }
      return text;
    }
  }
}
