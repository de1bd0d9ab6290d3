import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.consumer.store.OffsetStore;
import org.apache.rocketmq.client.consumer.store.ReadOffsetType;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.MessageClientExt;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.message.MessageQueue;

/**
 * The official push consumer: {"event":"ready"} once it is started, one line for each delivery, {"event":"closed"} after
 * its standard input has ended. Messages with the tag given as `failTag` fail the first time they are delivered.
 */
public final class Consume {
    private static final long SETTLE_MS = 4_000; // less than a request's own limit: a lost answer must show

    public static void main(String[] args) throws Exception {
        Lines lines = new Lines(args);
        String failTag = lines.text("failTag", "");
        DefaultMQPushConsumer consumer = new DefaultMQPushConsumer(lines.text("group", "java-consumer"));
        consumer.setNamesrvAddr(lines.text("namesrvAddr", null));
        consumer.setInstanceName(lines.text("instanceName", "consume"));
        consumer.setPollNameServerInterval(1_000); // routes of new topics, the retry topic above all
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        consumer.subscribe(lines.text("topic", null), lines.text("selector", "*"));
        Map<MessageQueue, Long> ends = new ConcurrentHashMap<>();
        consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {
            boolean fails = false;
            for (MessageExt message : messages) {
                ends.merge(context.getMessageQueue(), message.getQueueOffset() + 1, Math::max);
                print(lines, message);
                fails |= message.getReconsumeTimes() == 0 && failTag.equals(message.getTags());
            }
            return fails ? ConsumeConcurrentlyStatus.RECONSUME_LATER : ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
        });
        consumer.start();
        lines.print("event", "ready");
        while (System.in.read() >= 0) {
            // Only the end matters.
        }
        settle(lines, consumer.getDefaultMQPushConsumerImpl().getOffsetStore(), ends);
        consumer.shutdown();
        lines.print("event", "closed");
        System.exit(0); // 4.4.0 leaves threads behind
    }

    /**
     * Waits until what was delivered is consumed, and the broker knows it. A delivery is printed before it is consumed. And
     * Java's shutdown commits without waiting: 4.4.0 loses the last commits now and then, at its own broker too (2 of 5,000).
     */
    private static void settle(Lines lines, OffsetStore store, Map<MessageQueue, Long> ends) throws InterruptedException {
        long deadline = System.nanoTime() + SETTLE_MS * 1_000_000;
        for (Map.Entry<MessageQueue, Long> each : ends.entrySet()) {
            MessageQueue queue = each.getKey();
            long end = each.getValue();
            while (consumedTo(store, queue) < end && System.nanoTime() < deadline) Thread.sleep(1);
            long consumed = consumedTo(store, queue);
            store.persist(queue);
            long stored = storedTo(store, queue);
            while (stored < consumed && System.nanoTime() < deadline) { // 5.x asks before it tells
                Thread.sleep(1);
                stored = storedTo(store, queue);
            }
            store.updateOffset(queue, consumed, true); // asking has made it what the broker had
            if (consumed >= end && stored >= end) continue;
            lines.print("event", "failed", "key", queue.toString(),
                "error", "consumed to " + consumed + ", stored " + stored + ", delivered to " + end);
        }
    }

    private static long storedTo(OffsetStore store, MessageQueue queue) {
        return store.readOffset(queue, ReadOffsetType.READ_FROM_STORE);
    }

    private static long consumedTo(OffsetStore store, MessageQueue queue) {
        return store.readOffset(queue, ReadOffsetType.READ_FROM_MEMORY);
    }

    private static void print(Lines lines, MessageExt message) {
        try {
            lines.print("event", "message", "topic", message.getTopic(), "tags", message.getTags(), "key", message.getKeys(),
                "msgId", message.getMsgId(), "offsetMsgId", ((MessageClientExt) message).getOffsetMsgId(),
                "queueId", message.getQueueId(), "queueOffset", message.getQueueOffset(),
                "reconsumeTimes", message.getReconsumeTimes(), "sysFlag", message.getSysFlag(),
                "bornHost", message.getBornHostString(), "bornTimestamp", message.getBornTimestamp(),
                "bodyLength", message.getBody().length, "bodySha256", Lines.sha256(message.getBody()),
                "properties", message.getProperties());
        } catch (Exception error) {
            lines.print("event", "failed", "key", message.getKeys(), "error", error.toString());
        }
    }
}
