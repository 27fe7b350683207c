package millstream.codecs.avro;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.util.HexFormat;
import millstream.codecs.BadValue;
import org.apache.avro.io.BinaryEncoder;
import org.apache.avro.io.EncoderFactory;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Compared with Avro's own encoder, and with the table of the specification. */
final class AvroInputTest {
  private static AvroInput input(String hex) {
    return new AvroInput(HexFormat.of().parseHex(hex), 0);
  }

  @ParameterizedTest
  @CsvSource({
    "00, 0",
    "01, -1",
    "02, 1",
    "03, -2",
    "04, 2",
    "7f, -64",
    "8001, 64",
    "feffffffffffffffff01, 9223372036854775807",
    "ffffffffffffffffff01, -9223372036854775808",
    "8000, 0",
    "818000, -1"
  })
  void readsLongs(String hex, long number) throws BadValue {
    AvroInput in = input(hex);
    assertEquals(number, in.readLong());
    in.end();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "80",
        "ffffffffffffffffff",
        "ffffffffffffffffff02",
        "ffffffffffffffffff80",
        "ffffffffffffffffffff01",
        "8080808080808080808000"
      })
  void refusesLongs(String hex) {
    assertThrows(BadValue.class, () -> input(hex).readLong());
  }

  @ParameterizedTest
  @ValueSource(strings = {"8080808010", "8180808010", "feffffffffffffffff01"})
  void refusesIntsOfMoreBits(String hex) {
    assertThrows(BadValue.class, () -> input(hex).readInt());
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "02", "ff"})
  void refusesBooleans(String hex) {
    assertThrows(BadValue.class, () -> input(hex).readBoolean());
  }

  @ParameterizedTest
  @ValueSource(strings = {"02", "01", "0461", "02ff", "06eda080", "04c080", "feffffff0f61"})
  void refusesTexts(String hex) {
    assertThrows(BadValue.class, () -> input(hex).readString());
  }

  @ParameterizedTest
  @ValueSource(strings = {"010000", "0104000000", "ffffffffffffffffff0100", "0102"})
  void refusesBlocksOfWrongSizes(String hex) {
    assertThrows(
        BadValue.class,
        () -> {
          AvroInput in = input(hex);
          in.readBlocks(index -> in.readBoolean());
          in.end();
        });
  }

  @ParameterizedTest
  @ValueSource(strings = {"00", "020000", "04000100", "01020000", "0304000102000000"})
  void readsBlocks(String hex) throws BadValue {
    AvroInput in = input(hex);
    in.readBlocks(index -> in.readBoolean());
  }

  @ParameterizedTest
  @ValueSource(
      longs = {
        0,
        -1,
        63,
        64,
        -64,
        -65,
        8191,
        8192,
        Integer.MAX_VALUE,
        Integer.MIN_VALUE,
        1L << 34,
        Long.MAX_VALUE,
        Long.MIN_VALUE
      })
  void writesAsAvroDoes(long number) throws BadValue, IOException {
    ByteArrayOutputStream expected = new ByteArrayOutputStream();
    BinaryEncoder encoder = EncoderFactory.get().binaryEncoder(expected, null);
    encoder.writeLong(number);
    encoder.writeDouble(number);
    encoder.writeFloat(number);
    encoder.writeBoolean(number > 0);
    encoder.flush();
    AvroOutput out = new AvroOutput();
    out.clear();
    out.writeLong(number);
    out.writeDouble(number);
    out.writeFloat(number);
    out.writeBoolean(number > 0);
    assertArrayEquals(expected.toByteArray(), out.written());
    AvroInput in = new AvroInput(out.written(), 0);
    assertEquals(number, in.readLong());
    assertEquals((double) number, in.readDouble());
    assertEquals((float) number, in.readFloat());
    assertEquals(number > 0, in.readBoolean());
    in.end();
  }
}
