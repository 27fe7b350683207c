package millstream.spark;

import java.nio.ByteBuffer;

/** What is before a record in a value. */
enum Framing {
  PLAIN,
  /** As Confluent's serializers write it: the byte 0, and the schema's id in four bytes. */
  CONFLUENT;

  static Framing of(String name) {
    switch (name) {
      case "plain":
        return PLAIN;
      case "confluent":
        return CONFLUENT;
      default:
        throw new IllegalArgumentException("unknown framing '" + name + "'");
    }
  }

  int length() {
    return this == CONFLUENT ? 5 : 0;
  }

  /** Returns the id of the schema that a value was written with; without framing it is always 0. */
  int id(byte[] value) throws BadValue {
    if (this == PLAIN) {
      return 0;
    }
    if (value.length < length()) {
      throw new BadValue("the value has " + value.length + " bytes, too few for a schema id");
    }
    if (value[0] != 0) {
      throw new BadValue(String.format("the value starts with byte 0x%02x, not with 0 and a schema id", value[0] & 0xff));
    }
    return ByteBuffer.wrap(value).getInt(1);
  }

  byte[] header(int id) {
    return this == PLAIN ? new byte[0] : ByteBuffer.allocate(length()).putInt(1, id).array();
  }
}
