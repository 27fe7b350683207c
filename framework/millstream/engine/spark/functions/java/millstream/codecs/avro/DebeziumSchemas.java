package millstream.codecs.avro;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Map;
import millstream.codecs.BadValue;
import millstream.codecs.Schemas;

/**
 * Schemas as Debezium's connectors register them, in which Avro's logical types say what Kafka
 * Connect's names mean. Values stay the same.
 */
final class DebeziumSchemas implements Schemas {
  private static final long serialVersionUID = 1;
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final Map<String, String> LOGICAL =
      Map.of(
          "int io.debezium.time.Date", "date",
          "long io.debezium.time.Timestamp", "timestamp-millis",
          "long io.debezium.time.MicroTimestamp", "timestamp-micros");
  private final Schemas registered;

  DebeziumSchemas(Schemas registered) {
    this.registered = registered;
  }

  @Override
  public String schemaOf(int id) throws BadValue {
    String text = registered.schemaOf(id);
    if (text.isEmpty()) {
      return text;
    }
    try {
      JsonNode schema = JSON.readTree(text);
      addLogicalTypes(schema);
      return JSON.writeValueAsString(schema);
    } catch (JsonProcessingException error) {
      throw new BadValue("the writer's schema is not valid: " + error.getOriginalMessage());
    }
  }

  private static void addLogicalTypes(JsonNode schema) {
    if (schema instanceof ObjectNode object) {
      String name = object.path("type").asText("") + " " + object.path("connect.name").asText("");
      if (LOGICAL.containsKey(name)) {
        object.put("logicalType", LOGICAL.get(name));
      }
      for (Map.Entry<String, JsonNode> part : object.properties()) {
        if (!part.getKey().endsWith("default")) {
          addLogicalTypes(part.getValue());
        }
      }
    } else {
      schema.forEach(DebeziumSchemas::addLogicalTypes);
    }
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof DebeziumSchemas
        && registered.equals(((DebeziumSchemas) other).registered);
  }

  @Override
  public int hashCode() {
    return registered.hashCode();
  }
}
