import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.Channels;
import java.nio.channels.SocketChannel;
import java.util.ArrayList;
import java.util.List;

/** One connection with Redis, for all threads in turn. Debian has neither Jedis nor Lettuce nor Redisson. */
final class Redis {
    /** What Redis has said no to; the connection is as good as before. */
    static final class Refused extends RuntimeException {
        Refused(String message) {
            super(message);
        }
    }

    private final String path;
    private final SocketChannel channel;
    private final InputStream in;

    Redis(String url) throws IOException {
        path = url.replace("unix://", "");
        channel = SocketChannel.open(UnixDomainSocketAddress.of(path));
        in = new BufferedInputStream(Channels.newInputStream(channel));
    }

    Redis duplicate() throws IOException { // for one that blocks
        return new Redis(path);
    }

    /** A String, a Long, a List of these, or null. */
    synchronized Object call(Object... words) throws IOException {
        var request = new ByteArrayOutputStream();
        request.writeBytes(("*" + words.length + "\r\n").getBytes(UTF_8));
        for (Object word : words) {
            byte[] text = word.toString().getBytes(UTF_8);
            request.writeBytes(("$" + text.length + "\r\n").getBytes(UTF_8));
            request.writeBytes(text);
            request.writeBytes("\r\n".getBytes(UTF_8));
        }
        for (var bytes = ByteBuffer.wrap(request.toByteArray()); bytes.hasRemaining(); ) channel.write(bytes);
        return read();
    }

    private Object read() throws IOException {
        String line = line(), rest = line.substring(1);
        switch (line.charAt(0)) {
            case '+': return rest;
            case ':': return Long.valueOf(rest);
            case '-': throw new Refused(rest);
            case '$':
                int length = Integer.parseInt(rest);
                return length < 0 ? null : new String(in.readNBytes(length + 2), 0, length, UTF_8);
            default:
                int count = Integer.parseInt(rest);
                if (count < 0) return null;
                List<Object> list = new ArrayList<>();
                while (list.size() < count) list.add(read());
                return list;
        }
    }

    private String line() throws IOException {
        var line = new StringBuilder();
        for (int c = in.read(); c != '\r'; c = in.read()) {
            if (c < 0) throw new EOFException("Redis has hung up");
            line.append((char) c);
        }
        in.read(); // \n
        return line.toString();
    }
}
