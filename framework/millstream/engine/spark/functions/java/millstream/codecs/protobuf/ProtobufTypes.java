package millstream.codecs.protobuf;

import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import millstream.codecs.Texts;
import org.apache.spark.sql.types.DataType;
import org.sparkproject.spark_core.protobuf.DescriptorProtos.FileDescriptorProto;
import org.sparkproject.spark_core.protobuf.DescriptorProtos.FileDescriptorSet;
import org.sparkproject.spark_core.protobuf.Descriptors.Descriptor;
import org.sparkproject.spark_core.protobuf.Descriptors.DescriptorValidationException;
import org.sparkproject.spark_core.protobuf.Descriptors.FieldDescriptor;
import org.sparkproject.spark_core.protobuf.Descriptors.FileDescriptor;
import org.sparkproject.spark_core.protobuf.InvalidProtocolBufferException;

/**
 * Message types from a descriptor set, read by the protobuf-java that Spark's core brings under a
 * name of its own.
 */
final class ProtobufTypes {
  private ProtobufTypes() {}

  /**
   * Returns a message type of a descriptor set: base64 of what {@code protoc --include_imports}
   * writes.
   */
  static Descriptor message(String descriptorSet, String name) {
    Map<String, FileDescriptorProto> files = new HashMap<>();
    try {
      for (FileDescriptorProto file :
          FileDescriptorSet.parseFrom(Base64.getDecoder().decode(descriptorSet)).getFileList()) {
        files.put(file.getName(), file);
      }
      Map<String, FileDescriptor> built = new HashMap<>();
      for (String file : files.keySet()) {
        Descriptor type = find(build(file, files, built).getMessageTypes(), name);
        if (type != null) {
          return type;
        }
      }
    } catch (InvalidProtocolBufferException | DescriptorValidationException error) {
      throw new IllegalArgumentException("not a valid descriptor set: " + error.getMessage());
    }
    throw new IllegalArgumentException("the descriptor set has no message " + name);
  }

  private static FileDescriptor build(
      String name, Map<String, FileDescriptorProto> files, Map<String, FileDescriptor> built)
      throws DescriptorValidationException {
    if (!built.containsKey(name)) {
      FileDescriptorProto file = files.get(name);
      if (file == null) {
        throw new IllegalArgumentException(
            "the descriptor set lacks " + name + ", which is imported");
      }
      FileDescriptor[] imports = new FileDescriptor[file.getDependencyCount()];
      for (int i = 0; i < imports.length; i++) {
        imports[i] = build(file.getDependency(i), files, built);
      }
      built.put(name, FileDescriptor.buildFrom(file, imports));
    }
    return built.get(name);
  }

  private static Descriptor find(List<Descriptor> types, String name) {
    for (Descriptor type : types) {
      if (type.getFullName().equals(name)) {
        return type;
      }
      if (name.startsWith(type.getFullName() + ".")) {
        return find(type.getNestedTypes(), name);
      }
    }
    return null;
  }

  /** Returns the field of a column: of its name, or of the only name that differs in case alone. */
  static FieldDescriptor field(Descriptor message, String column) {
    FieldDescriptor exact = message.findFieldByName(column);
    if (exact != null) {
      return exact;
    }
    List<FieldDescriptor> similar =
        message.getFields().stream()
            .filter(field -> field.getName().equalsIgnoreCase(column))
            .collect(Collectors.toList());
    if (similar.size() != 1) {
      throw new IllegalArgumentException(
          "message " + message.getFullName() + " has no field " + column);
    }
    return similar.get(0);
  }

  static boolean isMessage(FieldDescriptor field) {
    return field.getJavaType() == FieldDescriptor.JavaType.MESSAGE;
  }

  /** The full name of a field's message type; empty for other fields. */
  static String messageName(FieldDescriptor field) {
    return isMessage(field) ? field.getMessageType().getFullName() : "";
  }

  static boolean isWrapper(String message) {
    switch (message) {
      case "google.protobuf.DoubleValue":
      case "google.protobuf.FloatValue":
      case "google.protobuf.Int64Value":
      case "google.protobuf.UInt64Value":
      case "google.protobuf.Int32Value":
      case "google.protobuf.UInt32Value":
      case "google.protobuf.BoolValue":
      case "google.protobuf.StringValue":
      case "google.protobuf.BytesValue":
        return true;
      default:
        return false;
    }
  }

  /** The wire type of a single value of a field. */
  static int wireType(FieldDescriptor field) {
    return field.getLiteType().getWireType();
  }

  static IllegalArgumentException unfit(FieldDescriptor field, DataType type) {
    String written =
        isMessage(field)
            ? messageName(field)
            : field.getType().name().toLowerCase(java.util.Locale.ROOT);
    return new IllegalArgumentException(
        "field "
            + field.getFullName()
            + " is of type "
            + written
            + ", which is not "
            + Texts.a(type));
  }
}
