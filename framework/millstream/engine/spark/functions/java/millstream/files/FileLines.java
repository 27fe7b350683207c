package millstream.files;

import java.io.IOException;
import java.io.InputStream;
import java.net.URI;
import java.util.Arrays;
import millstream.spark.HadoopSettings;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.io.compress.CompressionCodec;
import org.apache.hadoop.io.compress.CompressionCodecFactory;
import org.apache.hadoop.util.LineReader;

/** The lines of a file, cut as by Spark's reader of texts (LineRecordReader). */
public final class FileLines {
  private static final byte[] BYTE_ORDER_MARK = {(byte) 0xEF, (byte) 0xBB, (byte) 0xBF};

  private FileLines() {}

  /** Returns the first line; null if the file is empty. */
  static byte[] first(String address) throws IOException {
    try (LineReader lines = open(address)) {
      Text line = new Text();
      return lines.readLine(line) == 0 ? null : withoutMark(line.copyBytes());
    }
  }

  /**
   * Returns the number of the first line with some bytes, from 1; 0 if there is none any more.
   * Spark does not number lines, so they are counted only if an error names one.
   */
  public static int number(String address, byte[] text) {
    try (LineReader lines = open(address)) {
      Text line = new Text();
      for (int number = 1; lines.readLine(line) > 0; number++) {
        byte[] bytes = line.copyBytes();
        if (Arrays.equals(number == 1 ? withoutMark(bytes) : bytes, text)) {
          return number;
        }
      }
    } catch (IOException error) {
      return 0;
    }
    return 0;
  }

  /** Returns the path of an address as Spark's column {@code _metadata.file_path} has it. */
  static Path path(String address) {
    return new Path(URI.create(address));
  }

  /** Returns an address as people write it. */
  public static String shown(String address) {
    Path path = path(address);
    return "file".equals(path.toUri().getScheme()) ? path.toUri().getPath() : path.toString();
  }

  private static LineReader open(String address) throws IOException {
    Configuration configuration = HadoopSettings.settings();
    Path path = path(address);
    FileSystem files = path.getFileSystem(configuration);
    InputStream input = files.open(path);
    CompressionCodec codec = new CompressionCodecFactory(configuration).getCodec(path);
    return new LineReader(codec == null ? input : codec.createInputStream(input), configuration);
  }

  private static byte[] withoutMark(byte[] line) {
    int length = BYTE_ORDER_MARK.length;
    boolean marked =
        line.length >= length && Arrays.equals(line, 0, length, BYTE_ORDER_MARK, 0, length);
    return marked ? Arrays.copyOfRange(line, length, line.length) : line;
  }
}
