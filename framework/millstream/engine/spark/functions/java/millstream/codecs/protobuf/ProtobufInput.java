package millstream.codecs.protobuf;

import millstream.codecs.BadValue;

/**
 * A position in the bytes of a message. Nothing is read, or believed to exist, beyond their end.
 */
final class ProtobufInput {
  static final int VARINT = 0;
  static final int FIXED64 = 1;
  static final int LENGTH = 2;
  static final int GROUP = 3;
  static final int END_GROUP = 4;
  static final int FIXED32 = 5;
  private static final String[] NAMES = {
    "varint", "64-bit", "length-delimited", "group", "end of group", "32-bit"
  };
  private static final int DEEPEST = 100;
  private final byte[] bytes;
  private int position;
  private int end;
  private int depth;

  ProtobufInput(byte[] bytes, int start) {
    this.bytes = bytes;
    this.position = start;
    this.end = bytes.length;
  }

  int position() {
    return position;
  }

  int end() {
    return end;
  }

  /** Goes back to a position outside of all messages within the value. */
  void reset(int to, int endThere) {
    position = to;
    end = endThere;
    depth = 0;
  }

  boolean hasMore() {
    return position < end;
  }

  int tag() throws BadValue {
    long tag = varint();
    if (tag >>> 3 < 1 || tag >>> 32 != 0 || (tag & 7) > FIXED32) {
      throw new BadValue("not a Protobuf message: invalid tag at byte " + position);
    }
    return (int) tag;
  }

  long varint() throws BadValue {
    if (position < end && bytes[position] >= 0) {
      return bytes[position++];
    }
    long number = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (position == end) {
        throw cut();
      }
      byte next = bytes[position++];
      if (shift == 63 && next > 1) {
        break;
      }
      number |= (long) (next & 0x7f) << shift;
      if (next >= 0) {
        return number;
      }
    }
    throw new BadValue(
        "not a Protobuf message: a number has more than 64 bits at byte " + position);
  }

  int fixed32() throws BadValue {
    if (end - position < 4) {
      throw cut();
    }
    int number = 0;
    for (int i = 3; i >= 0; i--) {
      number = number << 8 | bytes[position + i] & 0xff;
    }
    position += 4;
    return number;
  }

  long fixed64() throws BadValue {
    if (end - position < 8) {
      throw cut();
    }
    long number = 0;
    for (int i = 7; i >= 0; i--) {
      number = number << 8 | bytes[position + i] & 0xff;
    }
    position += 8;
    return number;
  }

  byte[] content() throws BadValue {
    int length = length();
    byte[] result = new byte[length];
    System.arraycopy(bytes, position, result, 0, length);
    position += length;
    return result;
  }

  /** Enters a length-delimited value; returns what {@link #leave} needs. */
  int enter() throws BadValue {
    if (++depth > DEEPEST) {
      throw new BadValue("messages are nested more than " + DEEPEST + " levels deep");
    }
    int length = length();
    int outer = end;
    end = position + length;
    return outer;
  }

  void leave(int outer) {
    depth--;
    end = outer;
  }

  void skip(int tag) throws BadValue {
    skip(tag, 0);
  }

  private void skip(int tag, int depth) throws BadValue {
    switch (tag & 7) {
      case VARINT:
        varint();
        return;
      case FIXED64:
        fixed64();
        return;
      case LENGTH:
        int length = length();
        position += length;
        return;
      case FIXED32:
        fixed32();
        return;
      case GROUP:
        if (depth == DEEPEST) {
          throw new BadValue("groups are nested more than " + DEEPEST + " levels deep");
        }
        while (hasMore()) {
          int inner = tag();
          if ((inner & 7) == END_GROUP) {
            closed(tag, inner);
            return;
          }
          skip(inner, depth + 1);
        }
        throw new BadValue("the value ends within a group");
      default:
        throw new BadValue("not a Protobuf message: the end of a group that has no start");
    }
  }

  static void closed(int start, int stop) throws BadValue {
    if (start >>> 3 != stop >>> 3) {
      throw new BadValue(
          "not a Protobuf message: group " + (start >>> 3) + " ends as group " + (stop >>> 3));
    }
  }

  static String name(int wireType) {
    return NAMES[wireType];
  }

  private int length() throws BadValue {
    long length = varint();
    if (length < 0 || length > end - position) {
      throw cut();
    }
    return (int) length;
  }

  private static BadValue cut() {
    return new BadValue("the value is cut off");
  }
}
