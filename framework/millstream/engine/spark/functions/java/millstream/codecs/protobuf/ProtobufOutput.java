package millstream.codecs.protobuf;

import java.util.Arrays;

/** Bytes of a message, written from its end to its start: a length is known when its turn comes. */
final class ProtobufOutput {
  private byte[] bytes;
  private int start;

  ProtobufOutput(int expected) {
    bytes = new byte[expected];
    start = expected;
  }

  /** The number of bytes written so far. */
  int size() {
    return bytes.length - start;
  }

  byte[] content() {
    return Arrays.copyOfRange(bytes, start, bytes.length);
  }

  void varint(long number) {
    int length = (63 - Long.numberOfLeadingZeros(number | 1)) / 7 + 1;
    reserve(length);
    long rest = number;
    for (int i = start; i < start + length - 1; i++) {
      bytes[i] = (byte) (rest | 0x80);
      rest >>>= 7;
    }
    bytes[start + length - 1] = (byte) rest;
  }

  void fixed32(int number) {
    reserve(4);
    for (int i = 0; i < 4; i++) {
      bytes[start + i] = (byte) (number >>> 8 * i);
    }
  }

  void fixed64(long number) {
    reserve(8);
    for (int i = 0; i < 8; i++) {
      bytes[start + i] = (byte) (number >>> 8 * i);
    }
  }

  void bytes(byte[] content) {
    reserve(content.length);
    System.arraycopy(content, 0, bytes, start, content.length);
  }

  void tag(int number, int wireType) {
    varint((long) number << 3 | wireType);
  }

  /**
   * Whether all bytes after {@code size} ones are zero, as for the default of a scalar: the length
   * of a text that is not empty is not zero, nor is the last byte of a number.
   */
  boolean isZeroSince(int size) {
    for (int i = start; i < bytes.length - size; i++) {
      if (bytes[i] != 0) {
        return false;
      }
    }
    return true;
  }

  /** Takes back all but {@code size} bytes. */
  void backTo(int size) {
    start = bytes.length - size;
  }

  private void reserve(int length) {
    if (length > start) {
      int size = size();
      byte[] longer = new byte[Math.max(bytes.length * 2, Math.addExact(size, length))];
      System.arraycopy(bytes, start, longer, longer.length - size, size);
      start = longer.length - size;
      bytes = longer;
    }
    start -= length;
  }
}
