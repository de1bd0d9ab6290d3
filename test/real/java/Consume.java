import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.MessageClientExt;
import org.apache.rocketmq.common.message.MessageExt;

/**
 * The official push consumer: {"event":"ready"} once it is started, one line for each delivery, {"event":"closed"} after
 * its standard input has ended. Messages with the tag given as `failTag` fail the first time they are delivered.
 */
public final class Consume {
    public static void main(String[] args) throws Exception {
        Lines lines = new Lines(args);
        String failTag = lines.text("failTag", "");
        DefaultMQPushConsumer consumer = new DefaultMQPushConsumer(lines.text("group", "java-consumer"));
        consumer.setNamesrvAddr(lines.text("namesrvAddr", null));
        consumer.setInstanceName(lines.text("instanceName", "consume"));
        consumer.setPollNameServerInterval(1_000); // routes of new topics, the retry topic above all
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        consumer.subscribe(lines.text("topic", null), lines.text("selector", "*"));
        consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {
            boolean fails = false;
            for (MessageExt message : messages) {
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
        consumer.shutdown();
        lines.print("event", "closed");
        System.exit(0); // 4.4.0 leaves threads behind
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
