import java.util.concurrent.CountDownLatch;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.SendCallback;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.common.message.Message;

/**
 * The official producer: sends `count` messages with the keys `prefix`-0, `prefix`-1 … and the tags given, in turn; each
 * carries the property `note`. With mode=async all but the first are sent asynchronously. One line for each result, then {"event":"closed"}.
 */
public final class Produce {
    /** Not ASCII, and beyond the first plane. */
    static final String NOTE = "Gr\u00f6\u00dfe \u20ac \u65e5\u672c \ud83d\ude80";

    public static void main(String[] args) throws Exception {
        Lines lines = new Lines(args);
        DefaultMQProducer producer = new DefaultMQProducer(lines.text("group", "java-producer"));
        producer.setNamesrvAddr(lines.text("namesrvAddr", null));
        producer.setInstanceName(lines.text("instanceName", "produce"));
        producer.setSendMsgTimeout(10_000);
        producer.start();
        String[] tags = lines.text("tags", "").split(",");
        String prefix = lines.text("prefix", "java");
        int count = lines.number("count", 1);
        int length = lines.number("bodyLength", 10);
        boolean async = lines.text("mode", "sync").equals("async");
        CountDownLatch open = new CountDownLatch(count);
        for (int index = 0; index < count; index++) {
            String key = prefix + "-" + index;
            Message message = new Message(lines.text("topic", null), tags[index % tags.length], key, Lines.body(key, length));
            message.putUserProperty("note", NOTE);
            SendCallback report = report(lines, key, open);
            // The first one makes the connection: asynchronous sends of 4.4.0 that all find none get into each other's way.
            if (async && index > 0) {
                producer.send(message, report);
                continue;
            }
            try {
                report.onSuccess(producer.send(message));
            } catch (Exception error) {
                report.onException(error);
            }
        }
        open.await();
        producer.shutdown();
        lines.print("event", "closed");
        System.exit(0); // 4.4.0 leaves threads behind
    }

    private static String causes(Throwable error) {
        StringBuilder text = new StringBuilder();
        for (Throwable each = error; each != null; each = each.getCause()) text.append(each).append(" / ");
        return text.toString();
    }

    private static SendCallback report(Lines lines, String key, CountDownLatch open) {
        return new SendCallback() {
            @Override
            public void onSuccess(SendResult result) {
                lines.print("event", "sent", "key", key, "status", result.getSendStatus().name(), "msgId", result.getMsgId(),
                    "offsetMsgId", result.getOffsetMsgId(), "brokerName", result.getMessageQueue().getBrokerName(),
                    "queueId", result.getMessageQueue().getQueueId(), "queueOffset", result.getQueueOffset());
                open.countDown();
            }

            @Override
            public void onException(Throwable error) {
                lines.print("event", "failed", "key", key, "error", causes(error));
                open.countDown();
            }
        };
    }
}
