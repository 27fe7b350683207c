package millstream.spark;

import java.io.BufferedReader;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** Loads the classes that another JVM loads or has loaded, so that they are in this one's archive. */
public final class ClassLoading {
  private static final long QUIET = 5_000_000_000L;
  private static final long POLL = 100;

  private ClassLoading() {}

  /**
   * Reads so many names from a file. With a third argument, the other JVM is still writing it: then it ends when
   * none has been added for a while.
   */
  public static void main(String[] arguments) throws IOException, InterruptedException {
    int most = Integer.parseInt(arguments[1]);
    boolean grows = arguments.length > 2;
    try (BufferedReader names = Files.newBufferedReader(Path.of(arguments[0]))) {
      long last = System.nanoTime();
      for (int read = 0; read < most; ) {
        String line = names.readLine();
        if (line != null) {
          load(line);
          read++;
          last = System.nanoTime();
        } else if (grows && System.nanoTime() - last < QUIET) {
          Thread.sleep(POLL);
        } else {
          return;
        }
      }
    }
  }

  /** Loads the class of a line of {@code -XX:DumpLoadedClassList}; others are notes of the JVM. */
  private static void load(String line) {
    if (line.startsWith("#") || line.startsWith("@")) {
      return;
    }
    String name = line.split(" ", 2)[0].replace('/', '.');
    try {
      Class.forName(name, false, ClassLoader.getSystemClassLoader());
    } catch (ClassNotFoundException | LinkageError e) {
      // Made by the other JVM while it ran, or loaded in another way: the archive does without it.
    }
  }
}
