import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.HashMap;
import java.util.Map;

/** What both programs share: arguments of the form name=value, and one JSON object a line on standard output. */
final class Lines {
    private final Map<String, String> arguments = new HashMap<>();
    private final PrintStream out;

    Lines(String[] args) throws Exception {
        out = new PrintStream(new java.io.FileOutputStream(java.io.FileDescriptor.out), true, "US-ASCII");
        for (String each : args) {
            int split = each.indexOf('=');
            arguments.put(each.substring(0, split), each.substring(split + 1));
        }
    }

    String text(String name, String otherwise) {
        return arguments.getOrDefault(name, otherwise);
    }

    int number(String name, int otherwise) {
        return Integer.parseInt(arguments.getOrDefault(name, String.valueOf(otherwise)));
    }

    /** Names and values in turn; values are strings, numbers, booleans, null or a map of strings. */
    void print(Object... fields) {
        StringBuilder line = new StringBuilder("{");
        for (int index = 0; index < fields.length; index += 2) {
            if (index > 0) line.append(',');
            append(line, fields[index]);
            line.append(':');
            append(line, fields[index + 1]);
        }
        synchronized (out) {
            out.println(line.append('}'));
        }
    }

    private static void append(StringBuilder line, Object value) {
        if (value == null || value instanceof Number || value instanceof Boolean) {
            line.append(value);
        } else if (value instanceof Map) {
            line.append('{');
            boolean first = true;
            for (Map.Entry<?, ?> entry : ((Map<?, ?>) value).entrySet()) {
                if (!first) line.append(',');
                first = false;
                append(line, entry.getKey());
                line.append(':');
                append(line, entry.getValue());
            }
            line.append('}');
        } else {
            quote(line, value.toString());
        }
    }

    private static void quote(StringBuilder line, String text) {
        line.append('"');
        for (char each : text.toCharArray()) {
            if (each == '"' || each == '\\') line.append('\\').append(each);
            else if (each < ' ' || each > '~') line.append(String.format("\\u%04x", (int) each));
            else line.append(each);
        }
        line.append('"');
    }

    /** The body of the message with this key: the key and a blank, again and again, cut to the length. */
    static byte[] body(String key, int length) {
        byte[] unit = (key + " ").getBytes(StandardCharsets.UTF_8);
        byte[] body = new byte[length];
        for (int index = 0; index < length; index++) body[index] = unit[index % unit.length];
        return body;
    }

    static String sha256(byte[] bytes) throws Exception {
        StringBuilder hex = new StringBuilder();
        for (byte each : MessageDigest.getInstance("SHA-256").digest(bytes)) hex.append(String.format("%02x", each));
        return hex.toString();
    }
}
