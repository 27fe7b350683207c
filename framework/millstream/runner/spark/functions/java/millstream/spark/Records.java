package millstream.spark;

import java.io.Serializable;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import scala.jdk.javaapi.CollectionConverters;

/** The records that rows are, each with a header that all of a batch have, if one is given. */
record Records(RecordColumns columns, String name, byte[] value) implements Serializable {
  private static final String HEADER = "header";

  static Records of(StructType schema, scala.collection.immutable.Map<String, String> options) {
    return of(RecordColumns.of(schema), CollectionConverters.asJava(options));
  }

  static Records of(RecordColumns columns, Map<String, String> options) {
    String value = options.get(HEADER + ".value");
    return new Records(columns, options.get(HEADER), value == null ? null : value.getBytes(StandardCharsets.UTF_8));
  }

  void each(Iterator<InternalRow> rows, Consumer<ProducerRecord<byte[], byte[]>> send) {
    rows.forEachRemaining(sent(send));
  }

  /** Returns what sends the record that a row is. */
  Consumer<InternalRow> sent(Consumer<ProducerRecord<byte[], byte[]>> send) {
    Making making = new Making(columns, name == null ? null : new RecordHeader(name, value));
    return row -> send.accept(making.record(row));
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
      this.headers = made(null);
    }

    ProducerRecord<byte[], byte[]> record(InternalRow row) {
      ArrayData found = columns.headers(row);
      if (found != last) {  // several records of a row can have the same
        headers = made(found);
        last = found;
      }
      return new ProducerRecord<>(
          names.of(row.getUTF8String(columns.topic())), null, columns.time(row), columns.key(row), columns.value(row), headers);
    }

    private List<Header> made(ArrayData found) {
      int own = found == null ? 0 : found.numElements();
      List<Header> all = new ArrayList<>(own + 1);
      for (int number = 0; number < own; number++) {
        InternalRow header = found.getStruct(number, 2);
        all.add(new RecordHeader(names.of(header.getUTF8String(0)), header.isNullAt(1) ? null : header.getBinary(1)));
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
    private final Map<UTF8String, String> known = new HashMap<>();

    String of(UTF8String bytes) {
      String found = known.get(bytes);
      if (found == null) {
        found = bytes.toString();
        if (known.size() < MOST) {
          known.put(bytes.copy(), found);
        }
      }
      return found;
    }
  }
}
