import io.netty.buffer.ByteBuf;
import io.netty.buffer.PooledByteBufAllocator;
import io.netty.buffer.Unpooled;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.apache.rocketmq.common.UtilAll;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageAccessor;
import org.apache.rocketmq.common.message.MessageClientIDSetter;
import org.apache.rocketmq.common.message.MessageConst;
import org.apache.rocketmq.common.message.MessageDecoder;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.remoting.protocol.RemotingCommand;
import org.apache.rocketmq.remoting.protocol.RequestCode;
import org.apache.rocketmq.remoting.protocol.SerializeType;
import org.apache.rocketmq.remoting.protocol.header.PullMessageResponseHeader;
import org.apache.rocketmq.remoting.protocol.header.SendMessageRequestHeaderV2;
import org.apache.rocketmq.remoting.protocol.header.SendMessageResponseHeader;

/**
 * The codec of the Java client, case by case, as `npm run bench` names them. Prints a line of JSON for each: nanoseconds a
 * unit of the best and of the median batch. Arguments: batches, ms of a batch.
 */
public final class Codec {
    private static final int MESSAGES = 32;
    private static final long WARM_UP_NS = 1_000_000_000L;
    private static final String TOPIC = "TopicTest";

    private interface Work {
        long run() throws Exception;
    }

    /** Keeps what the work comes to, so that none of it is left out. */
    private static volatile long kept;

    private record Case(String name, int bodyBytes, int units, Work work) {
    }

    private static final List<Case> CASES = new ArrayList<>();

    public static void main(String[] args) throws Exception {
        addCases();
        // All of them first: a compiler that has seen the later cases optimizes for all.
        for (Case each : CASES) warmUp(each);
        for (Case each : CASES) measure(each, Integer.parseInt(args[0]), (long) (Double.parseDouble(args[1]) * 1e6));
    }

    private static void addCases() throws Exception {
        for (int bodyBytes : new int[] {128, 1024}) {
            byte[] body = body(bodyBytes);
            encodeSend("encode JSON send", SerializeType.JSON, body);
            encodeSend("encode binary send", SerializeType.ROCKETMQ, body);
        }
        decodeSend("decode JSON send response", SerializeType.JSON);
        decodePull("decode JSON pull response", SerializeType.JSON);
        decodeSend("decode binary send response", SerializeType.ROCKETMQ);
        decodePull("decode binary pull response", SerializeType.ROCKETMQ);
        for (int bodyBytes : new int[] {128, 1024}) consume(body(bodyBytes));
        for (int bodyBytes : new int[] {128, 1024, 4096, 16384, 65536}) {
            byte[] body = body(bodyBytes);
            add("CRC-32", bodyBytes, 1, () -> UtilAll.crc32(body));
        }
    }

    /** What `send` does for a frame: unique id, properties as text, header, head of the frame, body. */
    private static void encodeSend(String name, SerializeType type, byte[] body) throws Exception {
        ByteBuf out = PooledByteBufAllocator.DEFAULT.directBuffer(4096);
        int[] sequence = {0};
        add(name, body.length, 1, () -> {
            Message message = new Message(TOPIC, "TagA", "order-" + (100_000 + (sequence[0]++ & 4095) * 7), body);
            MessageClientIDSetter.setUniqID(message);
            SendMessageRequestHeaderV2 header = new SendMessageRequestHeaderV2();
            header.setA("please_rename_unique_group_name");
            header.setB(TOPIC);
            header.setC("TBW102");
            header.setD(4);
            header.setE(sequence[0] & 7);
            header.setF(0);
            header.setG(System.currentTimeMillis());
            header.setH(0);
            header.setI(MessageDecoder.messageProperties2String(message.getProperties()));
            header.setJ(0);
            header.setK(false);
            header.setM(false);
            header.setBrokerName("broker-a");
            RemotingCommand command = RemotingCommand.createRequestCommand(RequestCode.SEND_MESSAGE_V2, header);
            command.setSerializeTypeCurrentRPC(type);
            command.setBody(body);
            out.clear();
            command.fastEncodeHeader(out);
            out.writeBytes(body);
            return out.readableBytes();
        });
    }

    private static void decodeSend(String name, SerializeType type) throws Exception {
        RemotingCommand answer = RemotingCommand.createResponseCommand(SendMessageResponseHeader.class);
        SendMessageResponseHeader header = (SendMessageResponseHeader) answer.readCustomHeader();
        header.setMsgId("7F0000020000759F00000000000000EF");
        header.setQueueId(3);
        header.setQueueOffset(1_234_567L);
        header.setTransactionId("C00002027CAA5FFD2B2795EA79650001");
        answer.addExtField("MSG_REGION", "DefaultRegion");
        answer.addExtField("TRACE_ON", "true");
        ByteBuf frame = frame(answer, type);
        add(name, 0, 1, () -> {
            frame.readerIndex(4);
            RemotingCommand command = RemotingCommand.decode(frame);
            SendMessageResponseHeader read =
                (SendMessageResponseHeader) command.decodeCommandCustomHeader(SendMessageResponseHeader.class);
            return read.getQueueOffset() + read.getQueueId();
        });
    }

    private static void decodePull(String name, SerializeType type) throws Exception {
        RemotingCommand answer = pullAnswer();
        answer.setBody(body(128));
        ByteBuf frame = frame(answer, type);
        add(name, 128, 1, () -> {
            frame.readerIndex(4);
            RemotingCommand command = RemotingCommand.decode(frame);
            return readPull(command);
        });
    }

    /** Header and messages of one answer, body and tags as text. The client checks no CRC unless told to. */
    private static void consume(byte[] body) throws Exception {
        RemotingCommand answer = pullAnswer();
        answer.setBody(records(body));
        ByteBuf frame = frame(answer, SerializeType.JSON);
        add("consume", body.length, MESSAGES, () -> {
            frame.readerIndex(4);
            RemotingCommand command = RemotingCommand.decode(frame);
            long sum = readPull(command);
            for (MessageExt message : MessageDecoder.decodesBatch(ByteBuffer.wrap(command.getBody()), true, true, true)) {
                sum += new String(message.getBody(), java.nio.charset.StandardCharsets.UTF_8).length();
                sum += message.getTags().length();
            }
            return sum;
        });
    }

    private static RemotingCommand pullAnswer() {
        RemotingCommand answer = RemotingCommand.createResponseCommand(PullMessageResponseHeader.class);
        PullMessageResponseHeader header = (PullMessageResponseHeader) answer.readCustomHeader();
        header.setNextBeginOffset(1_234_567L);
        header.setMinOffset(0L);
        header.setMaxOffset(2_345_678L);
        header.setSuggestWhichBrokerId(0L);
        header.setTopicSysFlag(0);
        header.setGroupSysFlag(0);
        answer.setRemark("FOUND");
        return answer;
    }

    private static long readPull(RemotingCommand command) throws Exception {
        PullMessageResponseHeader header =
            (PullMessageResponseHeader) command.decodeCommandCustomHeader(PullMessageResponseHeader.class);
        return header.getNextBeginOffset() + header.getMinOffset() + header.getMaxOffset();
    }

    private static ByteBuf frame(RemotingCommand command, SerializeType type) {
        command.setCode(0);
        command.setOpaque(100_000);
        command.markResponseType();
        command.setSerializeTypeCurrentRPC(type);
        ByteBuffer encoded = command.encode();
        return Unpooled.directBuffer().writeBytes(encoded);
    }

    private static byte[] records(byte[] body) throws Exception {
        ByteBuffer out = ByteBuffer.allocate(MESSAGES * (body.length + 400));
        for (int index = 0; index < MESSAGES; index++) {
            MessageExt message = new MessageExt();
            message.setTopic(TOPIC);
            message.setBody(body);
            message.setBodyCRC(UtilAll.crc32(body));
            message.setQueueId(3);
            message.setQueueOffset(1_000 + index);
            message.setCommitLogOffset(123_456L + index * 400L);
            message.setBornTimestamp(1_796_006_370_909L);
            message.setStoreTimestamp(1_796_006_370_911L);
            message.setBornHost(new InetSocketAddress("127.0.0.1", 40_000));
            message.setStoreHost(new InetSocketAddress("127.0.0.2", 30_111));
            Map<String, String> properties = new HashMap<>();
            properties.put("MSG_REGION", "DefaultRegion");
            properties.put(
                MessageConst.PROPERTY_UNIQ_CLIENT_MESSAGE_ID_KEYIDX,
                String.format(Locale.ROOT, "AC1100011F4418B4AAC27D8E1A2B%04X", index));
            properties.put("CLUSTER", "DefaultCluster");
            properties.put(MessageConst.PROPERTY_TAGS, "TagA");
            properties.put(MessageConst.PROPERTY_KEYS, "order-" + (1_000 + index));
            properties.put(MessageConst.PROPERTY_WAIT_STORE_MSG_OK, "true");
            properties.put("TRACE_ON", "true");
            MessageAccessor.setProperties(message, properties);
            out.put(MessageDecoder.encode(message, false));
        }
        return Arrays.copyOf(out.array(), out.position());
    }

    private static byte[] body(int length) {
        byte[] bytes = new byte[length];
        for (int at = 0; at < length; at++) bytes[at] = (byte) (97 + at * 7 % 26);
        return bytes;
    }

    private static void add(String name, int bodyBytes, int units, Work work) {
        CASES.add(new Case(name, bodyBytes, units, work));
    }

    /** Returns nanoseconds of a run, of the last tenth of the time. */
    private static double warmUp(Case each) throws Exception {
        double ns = 0;
        for (int part = 0; part < 10; part++) {
            long runs = 0, begun = System.nanoTime(), end = begun + WARM_UP_NS / 10;
            while (System.nanoTime() < end) {
                kept ^= each.work.run();
                runs++;
            }
            ns = (double) (System.nanoTime() - begun) / runs;
        }
        return ns;
    }

    private static void measure(Case each, int rounds, long batchNs) throws Exception {
        long runs = Math.max(1, Math.round(batchNs / warmUp(each)));
        List<Double> samples = new ArrayList<>();
        for (int round = 0; round < rounds; round++) {
            long begun = System.nanoTime();
            for (long run = 0; run < runs; run++) kept ^= each.work.run();
            samples.add((double) (System.nanoTime() - begun) / runs / each.units);
        }
        samples.sort(null);
        System.out.printf(
            Locale.ROOT,
            "{\"name\":\"%s\",\"bodyBytes\":%d,\"best\":%.2f,\"median\":%.2f}%n",
            each.name, each.bodyBytes, samples.get(0), samples.get(rounds / 2));
    }

    private Codec() {
    }
}
