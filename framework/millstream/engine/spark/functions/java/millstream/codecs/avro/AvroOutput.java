package millstream.codecs.avro;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.util.Arrays;
import millstream.codecs.BadValue;
import millstream.codecs.Texts;
import org.apache.spark.unsafe.Platform;
import org.apache.spark.unsafe.types.UTF8String;

/** Writes Avro's binary encoding to memory that is used again for each record. */
final class AvroOutput {
  private static final VarHandle INT =
      MethodHandles.byteArrayViewVarHandle(int[].class, ByteOrder.LITTLE_ENDIAN);
  private static final VarHandle LONG =
      MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);
  private byte[] bytes = new byte[256];
  private int index;

  void clear() {
    index = 0;
  }

  byte[] written() {
    return Arrays.copyOf(bytes, index);
  }

  void writeBoolean(boolean value) {
    int start = advance(1); // may replace the array
    bytes[start] = (byte) (value ? 1 : 0);
  }

  void writeLong(long value) {
    long rest = value << 1 ^ value >> 63;
    reserve(10);
    while ((rest & ~0x7fL) != 0) {
      bytes[index++] = (byte) (rest & 0x7f | 0x80);
      rest >>>= 7;
    }
    bytes[index++] = (byte) rest;
  }

  void writeFloat(float value) {
    int start = advance(4);
    INT.set(bytes, start, Float.floatToRawIntBits(value));
  }

  void writeDouble(double value) {
    int start = advance(8);
    LONG.set(bytes, start, Double.doubleToRawLongBits(value));
  }

  void writeBytes(byte[] value) {
    writeLong(value.length);
    writeFixed(value);
  }

  void writeString(UTF8String value) throws BadValue {
    int length = value.numBytes();
    writeLong(length);
    int start = advance(length);
    value.writeToMemory(bytes, Platform.BYTE_ARRAY_OFFSET + start);
    if (!Texts.isAscii(bytes, start, length) && !value.isValid()) {
      throw BadValue.of(value.toString(), "a valid text: it is not UTF-8");
    }
  }

  void writeFixed(byte[] value) {
    int start = advance(value.length);
    System.arraycopy(value, 0, bytes, start, value.length);
  }

  private int advance(int length) {
    reserve(length);
    int start = index;
    index += length;
    return start;
  }

  private void reserve(int length) {
    if (bytes.length - index < length) {
      long size = Math.max(2L * bytes.length, (long) index + length);
      bytes = Arrays.copyOf(bytes, (int) Math.min(Integer.MAX_VALUE - 8L, size));
    }
  }
}
