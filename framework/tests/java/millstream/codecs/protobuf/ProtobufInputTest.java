package millstream.codecs.protobuf;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.IOException;
import java.util.Base64;
import java.util.HexFormat;
import java.util.Random;
import millstream.codecs.BadValue;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.StructType;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.sparkproject.spark_core.protobuf.CodedInputStream;
import org.sparkproject.spark_core.protobuf.CodedOutputStream;
import org.sparkproject.spark_core.protobuf.DescriptorProtos.DescriptorProto;
import org.sparkproject.spark_core.protobuf.DescriptorProtos.FieldDescriptorProto;
import org.sparkproject.spark_core.protobuf.DescriptorProtos.FieldDescriptorProto.Label;
import org.sparkproject.spark_core.protobuf.DescriptorProtos.FieldDescriptorProto.Type;
import org.sparkproject.spark_core.protobuf.DescriptorProtos.FileDescriptorProto;
import org.sparkproject.spark_core.protobuf.DescriptorProtos.FileDescriptorSet;

/** Compared with Protobuf's own streams, and with malformed messages of its conformance tests. */
final class ProtobufInputTest {
  private static final StructType COLUMNS =
      StructType.fromDDL(
          "number bigint, zigzag int, fixed int, name string, raw binary, value double,"
              + " many array<int>");

  private static String descriptors() {
    DescriptorProto.Builder message = DescriptorProto.newBuilder().setName("Event");
    Type[] types = {
      Type.TYPE_INT64,
      Type.TYPE_SINT32,
      Type.TYPE_FIXED32,
      Type.TYPE_STRING,
      Type.TYPE_BYTES,
      Type.TYPE_DOUBLE,
      Type.TYPE_INT32
    };
    for (int i = 0; i < types.length; i++) {
      boolean many = COLUMNS.fieldNames()[i].equals("many");
      message.addField(
          FieldDescriptorProto.newBuilder()
              .setName(COLUMNS.fieldNames()[i])
              .setNumber(i + 1)
              .setType(types[i])
              .setLabel(many ? Label.LABEL_REPEATED : Label.LABEL_OPTIONAL));
    }
    FileDescriptorProto file =
        FileDescriptorProto.newBuilder()
            .setName("event.proto")
            .setSyntax("proto3")
            .addMessageType(message)
            .build();
    return Base64.getEncoder()
        .encodeToString(FileDescriptorSet.newBuilder().addFile(file).build().toByteArray());
  }

  private static ProtobufInput input(String hex) {
    return new ProtobufInput(HexFormat.of().parseHex(hex), 0);
  }

  @ParameterizedTest
  @CsvSource({
    "00, 0",
    "01, 1",
    "7f, 127",
    "8001, 128",
    "8000, 0",
    "8100, 1",
    "ffffffff0f, 4294967295",
    "ffffffffffffffffff01, -1",
    "80808080808080808001, -9223372036854775808",
    "818000, 1"
  })
  void readsVarints(String hex, long number) throws BadValue, IOException {
    ProtobufInput in = input(hex);
    assertEquals(number, in.varint());
    assertFalse(in.hasMore());
    assertEquals(
        number, CodedInputStream.newInstance(HexFormat.of().parseHex(hex)).readRawVarint64());
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "80",
        "ffffffffffffffffff",
        "ffffffffffffffffff02",
        "ffffffffffffffffff7f",
        "ffffffffffffffffffff01"
      })
  void refusesVarints(String hex) {
    assertThrows(BadValue.class, () -> input(hex).varint());
  }

  @ParameterizedTest
  @ValueSource(strings = {"00", "07", "0e", "0f", "8080808080", "808080808001"})
  void refusesTags(String hex) {
    assertThrows(BadValue.class, () -> input(hex).tag());
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "08",
        "0880",
        "09",
        "0901020304050607",
        "0a",
        "0a02ff",
        "0affffffff0f",
        "0affffffffffffffffff01",
        "0b",
        "0b0b0c",
        "0b14",
        "0c",
        "0d",
        "0d000000",
        "0b08"
      })
  void refusesToSkip(String hex) {
    assertThrows(
        BadValue.class,
        () -> {
          ProtobufInput in = input(hex);
          in.skip(in.tag());
        });
  }

  /**
   * Protobuf's own reader for Java does not look at the tenth byte, and reads a negative number.
   */
  @Test
  void zerosAtTheEndOfANumberAreNoSign() throws BadValue {
    assertEquals(1, input("81808080808080808000").varint());
  }

  @Test
  void groupsOfGroupsHaveALimit() {
    byte[] bytes = new byte[100_000];
    java.util.Arrays.fill(bytes, (byte) 0x0b);
    ProtobufInput in = new ProtobufInput(bytes, 0);
    assertThrows(BadValue.class, () -> in.skip(in.tag()));
  }

  @ParameterizedTest
  @ValueSource(
      longs = {
        0,
        1,
        -1,
        127,
        128,
        16383,
        16384,
        Integer.MAX_VALUE,
        Integer.MIN_VALUE,
        1L << 35,
        Long.MAX_VALUE,
        Long.MIN_VALUE
      })
  void writesVarintsAsProtobufDoes(long number) throws IOException {
    byte[] expected = new byte[CodedOutputStream.computeUInt64SizeNoTag(number)];
    CodedOutputStream.newInstance(expected).writeUInt64NoTag(number);
    ProtobufOutput out = new ProtobufOutput(0);
    out.varint(number);
    assertArrayEquals(expected, out.content());
  }

  @Test
  void damagedMessagesNeverRaiseAnythingElse() throws BadValue {
    String descriptors = descriptors();
    ProtobufFormat format = new ProtobufFormat(COLUMNS, descriptors, "Event", "plain");
    ProtobufEncoding encoding = new ProtobufEncoding(COLUMNS, descriptors, "Event", "plain", 0);
    Random random = new Random(1);
    for (int number = 0; number < 20_000; number++) {
      Object[] row = {
        random.nextLong() >> random.nextInt(64),
        random.nextInt() >> random.nextInt(32),
        random.nextInt() & 0x7fffffff,
        org.apache.spark.unsafe.types.UTF8String.fromString("ü" + random.nextInt()),
        new byte[] {0, (byte) random.nextInt()},
        random.nextGaussian(),
        new org.apache.spark.sql.catalyst.util.GenericArrayData(new Object[] {random.nextInt(), -1})
      };
      byte[] bytes = encoding.encode(new GenericInternalRow(row));
      Object[] decoded = format.decode(bytes);
      for (int i = 0; i < 4; i++) {
        assertEquals(row[i], decoded[i]);
      }
      bytes[random.nextInt(bytes.length)] = (byte) random.nextInt();
      try {
        assertEquals(COLUMNS.length() + 1, format.decode(bytes).length);
      } catch (BadValue error) {
        assertEquals(String.class, error.getMessage().getClass());
      }
    }
  }
}
