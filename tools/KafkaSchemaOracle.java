import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.util.HexFormat;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.Message;
import org.apache.kafka.common.protocol.MessageSizeAccumulator;
import org.apache.kafka.common.protocol.ObjectSerializationCache;

/** A line in: class, version, bytes. A line out: "bad", or bytes left over and the bytes written anew. */
public class KafkaSchemaOracle {
    public static void main(String[] arguments) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        PrintStream out = new PrintStream(System.out, false);
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] parts = line.split(" ", -1);
            Message message = (Message) Class.forName(parts[0]).getConstructor().newInstance();
            out.println(answer(message, Short.parseShort(parts[1]), HexFormat.of().parseHex(parts[2])));
        }
        out.flush();
    }

    static String answer(Message message, short version, byte[] data) {
        ByteBuffer buffer = ByteBuffer.wrap(data);
        try {
            message.read(new ByteBufferAccessor(buffer), version);
        } catch (RuntimeException bad) {
            return "bad";
        }
        try {
            ObjectSerializationCache cache = new ObjectSerializationCache();
            MessageSizeAccumulator size = new MessageSizeAccumulator();
            message.addSize(size, cache, version);
            ByteBuffer written = ByteBuffer.allocate(size.totalSize());
            message.write(new ByteBufferAccessor(written), cache, version);
            return buffer.remaining() + " " + HexFormat.of().formatHex(written.array());
        } catch (RuntimeException unwritable) {
            return buffer.remaining() + " unwritable";
        }
    }
}
