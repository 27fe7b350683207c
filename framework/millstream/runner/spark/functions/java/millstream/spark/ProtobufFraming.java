package millstream.spark;

import java.io.ByteArrayOutputStream;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import org.sparkproject.spark_core.protobuf.Descriptors.Descriptor;

/**
 * What stands before a message: nothing, or what Confluent's serializers write there, which is a zero, four bytes of
 * a schema's id, and the indexes of the message in the schema's file, from the outermost message to the nested one.
 */
final class ProtobufFraming {
  private final Framing framing;
  private final String message;
  private final List<Integer> indexes = new ArrayList<>();

  ProtobufFraming(String name, Descriptor message) {
    this.framing = Framing.of(name);
    this.message = message.getFullName();
    for (Descriptor each = message; each != null; each = each.getContainingType()) {
      indexes.add(0, each.getIndex());
    }
  }

  /** Returns where the message starts. Whatever the schema's id is, fields are known by their numbers. */
  int start(byte[] value) throws BadValue {
    int header = framing.start(value);
    if (framing == Framing.PLAIN) {
      return header;
    }
    int[] position = {header};
    int count = index(value, position);
    if (count != 0 && count != indexes.size()) {
      throw unexpected(count + " message indexes");
    }
    List<Integer> found = new ArrayList<>();
    if (count == 0) { // what serializers write for the first message
      found.add(0);
    }
    for (int i = 0; i < count; i++) {
      found.add(index(value, position));
    }
    if (!found.equals(indexes)) {
      throw unexpected("message indexes " + shown(found));
    }
    return position[0];
  }

  private BadValue unexpected(String found) {
    return new BadValue("the value has " + found + ", not " + shown(indexes) + " of message " + message);
  }

  private static String shown(List<Integer> indexes) {
    return indexes.stream().map(String::valueOf).collect(Collectors.joining("."));
  }

  private static int index(byte[] value, int[] position) throws BadValue {
    int found = 0;
    for (int shift = 0; shift < 35; shift += 7) {
      if (position[0] == value.length) {
        throw new BadValue("the value is cut off in its message indexes");
      }
      byte next = value[position[0]++];
      found |= (next & 0x7f) << shift;
      if (next >= 0) {
        return found >>> 1 ^ -(found & 1);
      }
    }
    throw new BadValue("a message index has more than 32 bits");
  }

  /** Returns the bytes that stand before a message with a schema's id. */
  byte[] prefix(int id) {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    if (framing == Framing.CONFLUENT) {
      out.write(0);
      for (int shift = 24; shift >= 0; shift -= 8) {
        out.write(id >>> shift);
      }
      if (indexes.equals(List.of(0))) {
        out.write(0);
      } else {
        write(out, indexes.size());
        indexes.forEach(index -> write(out, index));
      }
    }
    return out.toByteArray();
  }

  private static void write(ByteArrayOutputStream out, int index) {
    int rest = index << 1; // zig-zag of what is not negative
    for (; rest >= 0x80; rest >>>= 7) {
      out.write(rest | 0x80);
    }
    out.write(rest);
  }
}
