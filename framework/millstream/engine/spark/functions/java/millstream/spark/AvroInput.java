package millstream.spark;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.util.Arrays;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Reads Avro's binary encoding strictly. Avro's own decoder reads the byte 2 as false, drops the upper bits of a
 * number that is too long for an int, and allocates as many bytes as a length says.
 */
final class AvroInput {
  private static final VarHandle INT = MethodHandles.byteArrayViewVarHandle(int[].class, ByteOrder.LITTLE_ENDIAN);
  private static final VarHandle LONG = MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);
  private static final int DEEPEST = 200;
  private final byte[] bytes;
  private int at;
  private int free = 10_000; // elements without bytes, in all of a value: a few bytes can claim any number of them
  private int depth;

  AvroInput(byte[] bytes, int start) {
    this.bytes = bytes;
    this.at = start;
  }

  int position() {
    return at;
  }

  /** Returns how many elements without bytes there may still be. */
  int free() {
    return free;
  }

  /** Goes back to a position outside of all records that may contain themselves. */
  void reset(int position, int freeThere) {
    at = position;
    free = freeThere;
    depth = 0;
  }

  boolean readBoolean() throws BadValue {
    int found = bytes[advance(1)];
    if (found != 0 && found != 1) {
      throw new BadValue(String.format("the byte 0x%02x is not a boolean", found & 0xff));
    }
    return found == 1;
  }

  int readInt() throws BadValue {
    long found = readLong();
    if (found != (int) found) {
      throw BadValue.of(Long.toString(found), "an int");
    }
    return (int) found;
  }

  long readLong() throws BadValue {
    if (at < bytes.length && bytes[at] >= 0) { // most numbers are lengths and the like, of one byte
      int found = bytes[at++];
      return found >>> 1 ^ -(found & 1);
    }
    return readLonger();
  }

  private long readLonger() throws BadValue {
    long found = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (at == bytes.length) {
        throw tooShort();
      }
      byte next = bytes[at++];
      if (shift == 63 && next > 1 || shift == 63 && next < 0) {
        break;
      }
      found |= (next & 0x7fL) << shift;
      if (next >= 0) {
        return found >>> 1 ^ -(found & 1);
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
    long found = readLong();
    if (found < 0 || found >= count) {
      throw new BadValue(found + " is not the number of " + of);
    }
    return (int) found;
  }

  /** Reads all blocks of an array or a map. */
  void readBlocks(Item item) throws BadValue {
    int index = 0;
    for (long count = readLong(); count != 0; count = readLong()) {
      int end = -1;
      if (count < 0) {
        int size = readLength();
        end = at + size;
        count = -count; // stays negative if it is the smallest number: no item is read
      }
      for (; count > 0; count--) {
        int before = at;
        item.read(index++);
        if (at == before && --free < 0) {
          throw new BadValue("there are too many elements without any bytes");
        }
      }
      if (end >= 0 && at != end || count < 0) {
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
    if (at != bytes.length) {
      throw new BadValue("there is more after the record: " + (bytes.length - at) + " bytes");
    }
  }

  private int readLength() throws BadValue {
    long length = readLong();
    if (length < 0) {
      throw new BadValue("a length is negative: " + length);
    }
    if (length > bytes.length - at) {
      throw tooShort();
    }
    return (int) length;
  }

  private int advance(int length) throws BadValue {
    int start = at;
    if (length > bytes.length - start) {
      throw tooShort();
    }
    at = start + length;
    return start;
  }

  private static BadValue tooShort() {
    return new BadValue("the value ends too early");
  }
}
