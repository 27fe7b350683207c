package millstream.codecs.protobuf;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.Deque;
import java.util.List;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.sparkproject.spark_core.protobuf.DescriptorProtos.DescriptorProto;
import org.sparkproject.spark_core.protobuf.DescriptorProtos.FileDescriptorProto;
import org.sparkproject.spark_core.protobuf.InvalidProtocolBufferException;

/**
 * Finds the place of a message in a schema of the registry, as its indexes from the outermost
 * message to the nested one. That is all that decoding needs of it, and it needs no compiler of the
 * text and the files that it imports.
 */
final class ProtobufPlaces {
  // Repetitions of alternatives are possessive: others need a frame of the stack for each
  // character.
  private static final Pattern TOKEN =
      Pattern.compile(
          "//[^\n]*|/\\*.*?\\*/|\"(?:[^\"\\\\\n]|\\\\.)*+\"|'(?:[^'\\\\\n]|\\\\.)*+'|[.\\w]+|\\S",
          Pattern.DOTALL);
  private static final Set<String> LABELS =
      Set.of("export", "local", "optional", "required", "repeated");
  private final List<String> tokens = new ArrayList<>();
  private final List<String> expected;
  private final List<Integer> elements = new ArrayList<>();

  /**
   * What is between two braces; within an enum, a oneof and the like, messages are those of the
   * message around it.
   */
  private static final class Scope {
    final Scope message;
    final int
        matched; // names that this message and those around it have; -1 if one has another name
    int messages;

    Scope(Scope message, int matched) {
      this.message = message == null ? this : message;
      this.matched = matched;
    }
  }

  private ProtobufPlaces(String text, List<String> expected) {
    this.expected = expected;
    Matcher matcher = TOKEN.matcher(text);
    while (matcher.find()) {
      String token = matcher.group();
      if (!token.startsWith("//") && !token.startsWith("/*")) {
        tokens.add(token);
      }
    }
  }

  /** Returns the indexes of a message by its package and names; empty if the schema lacks it. */
  static List<Integer> find(String schema, String prefix, List<String> names) {
    FileDescriptorProto compiled = compiled(schema);
    if (compiled == null) {
      return new ProtobufPlaces(schema, names).search(prefix);
    }
    List<Integer> elements = new ArrayList<>();
    List<DescriptorProto> messages = compiled.getMessageTypeList();
    for (String name : names) {
      int index =
          messages.stream()
              .map(DescriptorProto::getName)
              .collect(Collectors.toList())
              .indexOf(name);
      if (index < 0 || !compiled.getPackage().equals(prefix)) {
        return List.of();
      }
      elements.add(index);
      messages = messages.get(index).getNestedTypeList();
    }
    return elements;
  }

  /** Returns what some clients register instead of a text; null if it is one. */
  private static FileDescriptorProto compiled(String schema) {
    try {
      return FileDescriptorProto.parseFrom(
          Base64.getDecoder().decode(schema.replaceAll("\\s", "")));
    } catch (IllegalArgumentException | InvalidProtocolBufferException error) {
      return null;
    }
  }

  private List<Integer> search(String prefix) {
    Deque<Scope> scopes = new ArrayDeque<>();
    scopes.push(new Scope(null, 0));
    String declared = "";
    String group = "";
    boolean starts = true; // whether the token is the first of a statement
    for (int i = 0; i < tokens.size(); i++) {
      String token = tokens.get(i);
      Scope owner = scopes.peek().message;
      if (starts && token.equals("package")) {
        declared = token(i + 1);
      } else if (starts && token.equals("message") && token(i + 2).equals("{")) {
        scopes.push(opened(owner, token(i + 1)));
        i += 2;
        continue;
      } else if (starts && token.equals("map") && token(i + 1).equals("<")) {
        owner.messages++; // the message of its entries
      } else if (starts && token.equals("group") && token(i + 2).equals("=")) {
        group = token(i + 1);
      } else if (token.equals("{")) {
        scopes.push(group.isEmpty() || within(i) ? new Scope(owner, 0) : opened(owner, group));
        group = within(i) ? group : "";
      } else if (token.equals("}") && scopes.size() > 1) {
        scopes.pop();
      }
      starts =
          token.equals(";")
              || token.equals("{")
              || token.equals("}")
              || starts && LABELS.contains(token);
    }
    return declared.equals(prefix) && elements.size() == expected.size() ? elements : List.of();
  }

  private Scope opened(Scope owner, String name) {
    int index = owner.messages++;
    boolean matches =
        owner.matched >= 0
            && owner.matched < expected.size()
            && name.equals(expected.get(owner.matched));
    if (matches) {
      elements.subList(owner.matched, elements.size()).clear();
      elements.add(index);
    }
    return new Scope(null, matches ? owner.matched + 1 : -1);
  }

  /** Tells whether a brace begins the value of an option, in brackets. */
  private boolean within(int index) {
    for (int i = index - 1;
        i >= 0 && !Arrays.asList(";", "{", "}", "]").contains(tokens.get(i));
        i--) {
      if (tokens.get(i).equals("[")) {
        return true;
      }
    }
    return false;
  }

  private String token(int index) {
    return index < tokens.size() ? tokens.get(index) : "";
  }
}
