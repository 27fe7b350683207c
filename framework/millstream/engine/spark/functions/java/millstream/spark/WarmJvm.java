package millstream.spark;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.Properties;
import org.apache.logging.log4j.core.config.Configurator;
import org.apache.spark.SparkConf;
import org.apache.spark.api.python.Py4JServer;

/**
 * The JVM of a warm session, which one command after the other uses.
 *
 * <p>It reads requests from standard input, a line each, and answers each with a line: {@code open
 * CONFIGURATION}, with the address of the command's log4j configuration, starts a gateway of Py4J
 * with a secret of its own; {@code close} stops it, and leaves nothing of the command that used it.
 * The JVM ends with its standard input: with the process that started it.
 */
public final class WarmJvm {
  private static final String SPARK = "spark.";

  private final Properties first = new Properties();
  private Py4JServer gateway;

  private WarmJvm() {
    first.putAll(System.getProperties());
  }

  public static void main(String[] arguments) throws IOException {
    PrintStream answers = System.out;
    System.setOut(System.err);
    WarmJvm jvm = new WarmJvm();
    answers.println("ready");
    BufferedReader requests =
        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line = requests.readLine(); line != null; line = requests.readLine()) {
      answers.println(jvm.answer(line.split(" ", 2)));
      answers.flush();
    }
    Runtime.getRuntime().halt(0); // as a command's JVM ends with the command
  }

  private String answer(String[] request) {
    try {
      return request[0].equals("open") ? open(request[1]) : close();
    } catch (Throwable error) {
      error.printStackTrace();
      return "failed " + error.toString().replace('\n', ' ');
    }
  }

  private String open(String configuration) {
    Configurator.reconfigure(URI.create(configuration));
    gateway = new Py4JServer(new SparkConf());
    gateway.start();
    return "open " + gateway.getListeningPort() + " " + gateway.secret();
  }

  private String close() throws ReflectiveOperationException, IOException {
    gateway.shutdown();
    gateway = null;
    WarmState.forget();
    System.getProperties().keySet().removeIf(name -> name.toString().startsWith(SPARK));
    first.forEach(
        (name, value) -> {
          if (name.toString().startsWith(SPARK)) {
            System.setProperty(name.toString(), value.toString());
          }
        });
    String left = WarmState.left();
    System.gc(); // between two commands, nobody waits for it
    return left.isEmpty() ? "closed" : "failed " + left;
  }
}
