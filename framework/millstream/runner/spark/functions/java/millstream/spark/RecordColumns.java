package millstream.spark;

import java.io.Serializable;
import java.util.Arrays;
import java.util.List;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.types.StructType;

/** Where the parts of a record are in a row; -1 if the row has no such column. */
record RecordColumns(int topic, int key, int value, int headers, int timestamp) implements Serializable {
  private static final long MICROS = 1000;

  static RecordColumns of(StructType schema) {
    List<String> names = Arrays.asList(schema.fieldNames());
    return new RecordColumns(names.indexOf("topic"), names.indexOf("key"), names.indexOf("value"),
        names.indexOf("headers"), names.indexOf("timestamp"));
  }

  ProducerRecord<byte[], byte[]> record(InternalRow row) {
    byte[] own = row.isNullAt(key) ? null : row.getBinary(key);
    byte[] content = row.isNullAt(value) ? null : row.getBinary(value);
    Long time = timestamp < 0 || row.isNullAt(timestamp) ? null : Math.floorDiv(row.getLong(timestamp), MICROS);
    return new ProducerRecord<>(row.getUTF8String(topic).toString(), null, time, own, content, headersOf(row));
  }

  private List<Header> headersOf(InternalRow row) {
    if (headers < 0 || row.isNullAt(headers)) {
      return List.of();
    }
    ArrayData found = row.getArray(headers);
    Header[] made = new Header[found.numElements()];
    for (int number = 0; number < made.length; number++) {
      InternalRow header = found.getStruct(number, 2);
      made[number] = new RecordHeader(
          header.getUTF8String(0).toString(), header.isNullAt(1) ? null : header.getBinary(1));
    }
    return Arrays.asList(made);
  }
}
