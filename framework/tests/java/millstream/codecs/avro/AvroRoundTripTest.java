package millstream.codecs.avro;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import millstream.codecs.BadValue;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericDatumReader;
import org.apache.avro.generic.GenericDatumWriter;
import org.apache.avro.generic.GenericRecord;
import org.apache.avro.generic.GenericRecordBuilder;
import org.apache.avro.io.BinaryEncoder;
import org.apache.avro.io.DecoderFactory;
import org.apache.avro.io.EncoderFactory;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.StructType;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Records that Avro's own library writes are read, and the other way round. */
final class AvroRoundTripTest {
  private static final String SCHEMA =
      """
      {"type": "record", "name": "Event", "fields": [
        {"name": "id", "type": "long"},
        {"name": "name", "type": ["null", "string"]},
        {"name": "value", "type": "double"},
        {"name": "small", "type": "int"},
        {"name": "ratio", "type": "float"},
        {"name": "ok", "type": "boolean"},
        {"name": "raw", "type": "bytes"},
        {"name": "tags", "type": {"type": "array", "items": "string"}},
        {"name": "counts", "type": {"type": "map", "values": "long"}},
        {"name": "kind", "type": {"type": "enum", "name": "Kind", "symbols": ["A", "B"]}}
      ]}
      """;
  private static final StructType COLUMNS =
      StructType.fromDDL(
          "id bigint, name string, value double, small int, ratio float, ok boolean, raw binary,"
              + " tags array<string>, counts map<string, bigint>, kind string");
  private static final Schema PARSED = new Schema.Parser().parse(SCHEMA);

  private static GenericRecord record(Random random) {
    return new GenericRecordBuilder(PARSED)
        .set("id", random.nextLong() >> random.nextInt(64))
        .set("name", random.nextBoolean() ? null : "ü" + random.nextInt() + "𝄞")
        .set("value", Double.longBitsToDouble(random.nextLong()))
        .set("small", random.nextInt() >> random.nextInt(32))
        .set("ratio", random.nextFloat())
        .set("ok", random.nextBoolean())
        .set("raw", ByteBuffer.wrap(new byte[] {(byte) random.nextInt(), 0, -1}))
        .set("tags", Arrays.asList("a", "", "ß").subList(0, random.nextInt(4)))
        .set("counts", java.util.Map.of("k", random.nextLong()))
        .set("kind", PARSED.getField("kind").schema().getEnumSymbols().get(random.nextInt(2)))
        .build();
  }

  private static byte[] written(GenericRecord record) throws IOException {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    // Blocks with their sizes, which only some writers write.
    BinaryEncoder encoder = EncoderFactory.get().blockingBinaryEncoder(bytes, null);
    Schema kind = PARSED.getField("kind").schema();
    record.put(
        "kind", new org.apache.avro.generic.GenericData.EnumSymbol(kind, record.get("kind")));
    new GenericDatumWriter<GenericRecord>(PARSED).write(record, encoder);
    encoder.flush();
    return bytes.toByteArray();
  }

  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3, 4, 5, 6, 7, 8})
  void readsAndWritesWhatAvroWrites(long seed) throws BadValue, IOException {
    byte[] bytes = written(record(new Random(seed)));
    AvroFormat format = AvroFormat.of(COLUMNS, List.of(SCHEMA, "plain", ""));
    Object[] row = format.decode(bytes);
    assertNull(row[COLUMNS.length()]);
    AvroEncoder encoder = AvroEncoder.of(COLUMNS, List.of(SCHEMA, "plain", ""));
    byte[] encoded = encoder.encode(new GenericInternalRow(Arrays.copyOf(row, COLUMNS.length())));
    assertEquals(read(bytes), read(encoded));
    Object[] again = format.decode(encoded);
    assertArrayEquals((byte[]) row[6], (byte[]) again[6]);
  }

  private static GenericRecord read(byte[] bytes) throws IOException {
    return new GenericDatumReader<GenericRecord>(PARSED)
        .read(null, DecoderFactory.get().binaryDecoder(bytes, null));
  }

  @Test
  void everyPrefixAndEverySuffixIsRefused() throws BadValue, IOException {
    byte[] bytes = written(record(new Random(9)));
    AvroFormat format = AvroFormat.of(COLUMNS, List.of(SCHEMA, "plain", ""));
    for (int length = 0; length < bytes.length; length++) {
      byte[] part = Arrays.copyOf(bytes, length);
      assertThrows(BadValue.class, () -> format.decode(part), "of " + length + " bytes");
    }
    assertThrows(BadValue.class, () -> format.decode(Arrays.copyOf(bytes, bytes.length + 1)));
  }

  @Test
  void damagedBytesNeverRaiseAnythingElse() throws IOException {
    AvroFormat format = AvroFormat.of(COLUMNS, List.of(SCHEMA, "plain", ""));
    Random random = new Random(10);
    for (int number = 0; number < 20_000; number++) {
      byte[] bytes = written(record(random));
      for (int damage = random.nextInt(3); damage >= 0; damage--) {
        bytes[random.nextInt(bytes.length)] = (byte) random.nextInt();
      }
      try {
        assertEquals(COLUMNS.length() + 1, format.decode(bytes).length);
      } catch (BadValue error) {
        assertEquals(String.class, error.getMessage().getClass());
      }
    }
  }
}
