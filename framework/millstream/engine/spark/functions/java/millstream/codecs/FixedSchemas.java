package millstream.codecs;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import java.io.IOException;
import java.util.HashMap;

/** Schemas that a call lists: a JSON object of schemas, as texts, by their ids. */
public final class FixedSchemas implements Schemas {
  private static final long serialVersionUID = 1;
  private final HashMap<Integer, String> schemas = new HashMap<>();

  public FixedSchemas(String json) {
    try (JsonParser parser = Texts.FACTORY.createParser(json)) {
      if (parser.nextToken() != JsonToken.START_OBJECT) {
        throw new IllegalArgumentException("not a JSON object of schemas by their ids");
      }
      for (String id = parser.nextFieldName(); id != null; id = parser.nextFieldName()) {
        if (parser.nextToken() != JsonToken.VALUE_STRING) {
          throw new IllegalArgumentException("schema " + id + " is not a text");
        }
        schemas.put(Integer.valueOf(id), parser.getText());
      }
    } catch (IOException error) {
      throw new IllegalArgumentException(
          "not a JSON object of schemas by their ids: " + error.getMessage(), error);
    }
  }

  /** Returns a schema, or null if none of this id is listed. */
  String find(int id) {
    return schemas.get(id);
  }

  @Override
  public String schemaOf(int id) throws BadValue {
    String text = find(id);
    if (text == null) {
      throw new BadValue("unknown schema id " + id);
    }
    return text;
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof FixedSchemas && schemas.equals(((FixedSchemas) other).schemas);
  }

  @Override
  public int hashCode() {
    return schemas.hashCode();
  }
}
