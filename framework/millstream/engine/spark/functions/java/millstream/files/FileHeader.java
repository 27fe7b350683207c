package millstream.files;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.regex.Pattern;
import millstream.codecs.Failure;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.catalog.functions.ScalarFunction;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * A function of SQL: from the address of a CSV file to its first line. It fails if a column is not
 * among the names there.
 */
public final class FileHeader implements ScalarFunction<byte[]> {
  private final String delimiter;
  private final String quote;
  private final List<String> columns;
  private transient volatile Header last;

  public FileHeader(String delimiter, String quote, List<String> columns) {
    this.delimiter = delimiter;
    this.quote = quote;
    this.columns = columns;
  }

  /** The rows of a file follow each other, so the header of one file is all that is kept. */
  private record Header(UTF8String file, byte[] line) {}

  /** Called by generated code, which looks for it in this class alone. */
  public byte[] invoke(UTF8String file) {
    Header header = last;
    if (header == null || !header.file.equals(file)) {
      header = new Header(file.copy(), read(file.toString()));
      last = header;
    }
    return header.line;
  }

  private byte[] read(String file) {
    byte[] line;
    try {
      line = FileLines.first(file);
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    }
    Set<String> names = new HashSet<>();
    String text = line == null ? "" : new String(line, StandardCharsets.UTF_8);
    for (String name : text.split(Pattern.quote(delimiter), -1)) {
      boolean quoted = name.length() > 1 && name.startsWith(quote) && name.endsWith(quote);
      names.add(quoted ? name.substring(1, name.length() - 1) : name);
    }
    for (String column : columns) {
      if (!names.contains(column)) {
        throw Failure.of(
            "bad record: file "
                + FileLines.shown(file)
                + ", line 1: the header has no column '"
                + column
                + "'");
      }
    }
    return line;
  }

  @Override
  public byte[] produceResult(InternalRow input) {
    return invoke(input.getUTF8String(0));
  }

  @Override
  public DataType[] inputTypes() {
    return new DataType[] {DataTypes.StringType};
  }

  @Override
  public DataType resultType() {
    return DataTypes.BinaryType;
  }

  @Override
  public String name() {
    return "file_header";
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof FileHeader
        && delimiter.equals(((FileHeader) other).delimiter)
        && quote.equals(((FileHeader) other).quote)
        && columns.equals(((FileHeader) other).columns);
  }

  @Override
  public int hashCode() {
    return Objects.hash(delimiter, quote, columns);
  }
}
