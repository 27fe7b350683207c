package millstream.codecs.avro;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.util.Arrays;
import millstream.codecs.BadValue;
import millstream.codecs.Texts;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Reads Avro's binary encoding strictly. Avro's own decoder reads the byte 2 as false, drops the
 * upper bits of a number that is too long for an int, and allocates as many bytes as a length says.
 */
final class AvroInput {
  private static final VarHandle INT =
      MethodHandles.byteArrayViewVarHandle(int[].class, ByteOrder.LITTLE_ENDIAN);
  private static final VarHandle LONG =
      MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);
  private static final int DEEPEST = 200;
  private final byte[] bytes;
  private int offset;
  private int free =
      10_000; // elements without bytes, in all of a value: a few bytes can claim any number of them
  private int depth;

  AvroInput(byte[] bytes, int start) {
    this.bytes = bytes;
    this.offset = start;
  }

  int position() {
    return offset;
  }

  /** Returns how many elements without bytes there may still be. */
  int free() {
    return free;
  }

  /** Goes back to a position outside of all records that may contain themselves. */
  void reset(int position, int freeThere) {
    offset = position;
    free = freeThere;
    depth = 0;
  }

  boolean readBoolean() throws BadValue {
    int number = bytes[advance(1)];
    if (number != 0 && number != 1) {
      throw new BadValue(String.format("the byte 0x%02x is not a boolean", number & 0xff));
    }
    return number == 1;
  }

  int readInt() throws BadValue {
    long number = readLong();
    if (number != (int) number) {
      throw BadValue.of(Long.toString(number), "an int");
    }
    return (int) number;
  }

  long readLong() throws BadValue {
    if (offset < bytes.length
        && bytes[offset] >= 0) { // most numbers are lengths and the like, of one byte
      int number = bytes[offset++];
      return number >>> 1 ^ -(number & 1);
    }
    return readLonger();
  }

  private long readLonger() throws BadValue {
    long number = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (offset == bytes.length) {
        throw tooShort();
      }
      byte next = bytes[offset++];
      if (shift == 63 && next > 1 || shift == 63 && next < 0) {
        break;
      }
      number |= (next & 0x7fL) << shift;
      if (next >= 0) {
        return number >>> 1 ^ -(number & 1);
      }
    }
    throw new BadValue("a number has more than 64 bits");
  }

  float readFloat() throws BadValue {
    return Float.intBitsToFloat((int) INT.get(bytes, advance(4)));
  }

  double readDouble() throws BadValue {
    return Double.longBitsToDouble((long) LONG.get(bytes, advance(8)));
  }

  /** Returns a text that shares the value's bytes. */
  UTF8String readString() throws BadValue {
    int length = readLength();
    int start = advance(length);
    UTF8String text = UTF8String.fromBytes(bytes, start, length);
    if (!Texts.isAscii(bytes, start, length) && !text.isValid()) {
      throw new BadValue("the text is not UTF-8");
    }
    return text;
  }

  byte[] readBytes() throws BadValue {
    return readFixed(readLength());
  }

  byte[] readFixed(int length) throws BadValue {
    int start = advance(length);
    return Arrays.copyOfRange(bytes, start, start + length);
  }

  void skipBytes() throws BadValue {
    advance(readLength());
  }

  void skipFixed(int length) throws BadValue {
    advance(length);
  }

  /** Returns the index of a branch or a symbol, of which there are as many as given. */
  int readIndex(int count, String of) throws BadValue {
    long number = readLong();
    if (number < 0 || number >= count) {
      throw new BadValue(number + " is not the number of " + of);
    }
    return (int) number;
  }

  /** Reads all blocks of an array or a map. */
  void readBlocks(Item item) throws BadValue {
    int index = 0;
    for (long count = readLong(); count != 0; count = readLong()) {
      int end = -1;
      if (count < 0) {
        int size = readLength();
        end = offset + size;
        count = -count; // stays negative if it is the smallest number: no item is read
      }
      for (; count > 0; count--) {
        int before = offset;
        item.read(index++);
        if (offset == before && --free < 0) {
          throw new BadValue("there are too many elements without any bytes");
        }
      }
      if (end >= 0 && offset != end || count < 0) {
        throw new BadValue("the size of a block is wrong");
      }
    }
  }

  /** What {@link #readBlocks} does with an element or an entry. */
  interface Item {
    void read(int index) throws BadValue;
  }

  /** Called for each record of a type that may contain itself. */
  void enter() throws BadValue {
    enter(DEEPEST);
  }

  void enter(int deepest) throws BadValue {
    if (++depth > deepest) {
      throw new BadValue("records are nested more than " + deepest + " levels deep");
    }
  }

  void leave() {
    depth--;
  }

  void end() throws BadValue {
    if (offset != bytes.length) {
      throw new BadValue("there is more after the record: " + (bytes.length - offset) + " bytes");
    }
  }

  private int readLength() throws BadValue {
    long length = readLong();
    if (length < 0) {
      throw new BadValue("a length is negative: " + length);
    }
    if (length > bytes.length - offset) {
      throw tooShort();
    }
    return (int) length;
  }

  private int advance(int length) throws BadValue {
    int start = offset;
    if (length > bytes.length - start) {
      throw tooShort();
    }
    offset = start + length;
    return start;
  }

  private static BadValue tooShort() {
    return new BadValue("the value ends too early");
  }
}
