import com.rabbitmq.jms.admin.RMQConnectionFactory;
import com.rabbitmq.jms.admin.RMQDestination;
import com.rabbitmq.jms.client.HandleAnyReplyToStrategy;
import jakarta.jms.BytesMessage;
import jakarta.jms.Connection;
import jakarta.jms.DeliveryMode;
import jakarta.jms.Destination;
import jakarta.jms.JMSException;
import jakarta.jms.MapMessage;
import jakarta.jms.Message;
import jakarta.jms.MessageConsumer;
import jakarta.jms.MessageProducer;
import jakarta.jms.ObjectMessage;
import jakarta.jms.Queue;
import jakarta.jms.Session;
import jakarta.jms.StreamMessage;
import jakarta.jms.TextMessage;
import jakarta.jms.Topic;
import java.io.ByteArrayOutputStream;
import java.io.ObjectOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Enumeration;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * The Java side of the interop test: one JSON line on standard output for each message sent or received.
 *
 * <pre>java Interop URI jms|amqp COMMAND ARGUMENTS
 *   emit QUEUE              send the matrix
 *   verify QUEUE COUNT      receive and describe
 *   serve QUEUE COUNT       answer requests
 *   ask QUEUE TEXT          send a request with a temporary queue, describe the answer
 *   durable TOPIC NAME COUNT [keep]   receive by a durable subscription, then forget it
 *   select TOPIC NAME SELECTOR COUNT  the same with a selector, and keep it
 *   publish TOPIC COUNT     send numbered texts</pre>
 */
public final class Interop {
    private static final long PATIENCE = 30_000;
    private static final PrintStream OUT = new PrintStream(System.out, true, StandardCharsets.UTF_8);
    private final Session session;
    private final boolean amqp;

    private Interop(Session session, boolean amqp) {
        this.session = session;
        this.amqp = amqp;
    }

    public static void main(String[] arguments) throws Exception {
        RMQConnectionFactory factory = new RMQConnectionFactory();
        factory.setUri(arguments[0]);
        // By default the client declares whatever it answers to, which another's temporary queue forbids.
        factory.setDeclareReplyToDestination(false);
        if (arguments[1].equals("amqp")) {
            // By default the client ignores the reply-to of plain AMQP messages.
            factory.setReplyToStrategy(HandleAnyReplyToStrategy.INSTANCE);
        }
        try (Connection connection = factory.createConnection()) {
            connection.start();
            try (Session session = connection.createSession(false, Session.AUTO_ACKNOWLEDGE)) {
                new Interop(session, arguments[1].equals("amqp")).run(arguments);
            }
        }
    }

    private void run(String[] arguments) throws Exception {
        String name = arguments[3];
        switch (arguments[2]) {
            case "emit" -> emit(queue(name));
            case "verify" -> verify(queue(name), Integer.parseInt(arguments[4]));
            case "serve" -> serve(queue(name), Integer.parseInt(arguments[4]));
            case "ask" -> ask(queue(name), arguments[4]);
            case "durable" -> durable(name, arguments[4], Integer.parseInt(arguments[5]), arguments.length > 6);
            case "select" -> select(name, arguments[4], arguments[5], Integer.parseInt(arguments[6]));
            case "publish" -> publish(name, Integer.parseInt(arguments[4]));
            default -> throw new IllegalArgumentException(arguments[2]);
        }
    }

    private Queue queue(String name) throws JMSException {
        return amqp ? new RMQDestination(name, "", name, name) : session.createQueue(name);
    }

    private void emit(Queue queue) throws Exception {
        MessageProducer producer = session.createProducer(queue);
        for (Message message : matrix()) {
            properties(message);
            producer.send(message);
            OUT.println(Json.text(describe(message)));
        }
        Message headers = session.createTextMessage("headers");
        headers.setJMSCorrelationID("request-é-1");
        headers.setJMSType("order");
        headers.setJMSReplyTo(session.createTemporaryQueue());
        headers.setStringProperty("JMSXGroupID", "group-1");
        headers.setIntProperty("JMSXGroupSeq", 3);
        producer.send(headers, DeliveryMode.NON_PERSISTENT, 7, 600_000);
        OUT.println(Json.text(describe(headers)));
        Message bytes = session.createTextMessage("correlation as bytes");
        bytes.setJMSCorrelationIDAsBytes("c-1".getBytes(StandardCharsets.UTF_8));
        bytes.setJMSReplyTo(session.createQueue("answers"));
        producer.send(bytes);
        OUT.println(Json.text(describe(bytes)));
    }

    private List<Message> matrix() throws Exception {
        List<Message> all = new ArrayList<>();
        all.add(session.createTextMessage("héllo € 😀 \0 end"));
        all.add(session.createTextMessage("x".repeat(1500)));
        BytesMessage bytes = session.createBytesMessage();
        bytes.writeBytes(new byte[] {0, 1, (byte) 0xac, (byte) 0xed, 0x77, (byte) 0xff});
        all.add(bytes);
        if (amqp) {
            return all; // the Java client sends nothing else there
        }
        all.add(session.createTextMessage(null));
        all.add(session.createMessage());
        MapMessage map = session.createMapMessage();
        for (Map.Entry<String, Object> field : values().entrySet()) {
            map.setObject(field.getKey(), field.getValue());
        }
        all.add(map);
        StreamMessage stream = session.createStreamMessage();
        for (Object field : values().values()) {
            stream.writeObject(field);
        }
        all.add(stream);
        all.add(session.createObjectMessage(new ArrayList<>(List.of(1, "a", new ArrayList<>(List.of(2.5))))));
        all.add(session.createObjectMessage(null));
        return all;
    }

    private static Map<String, Object> values() {
        Map<String, Object> all = new TreeMap<>();
        all.put("bool", true);
        all.put("byte", (byte) -5);
        all.put("bytes", new byte[] {1, 2, (byte) 0xfd});
        all.put("char", '€');
        all.put("double", -6.02e23);
        all.put("float", 0.1f);
        all.put("int", 70000);
        all.put("long", 1L << 40);
        all.put("null", null);
        all.put("short", (short) 300);
        all.put("string", "naïve 😀");
        return all;
    }

    private static void properties(Message message) throws JMSException {
        for (Map.Entry<String, Object> property : values().entrySet()) {
            Object value = property.getValue();
            if (value != null && !(value instanceof byte[]) && !(value instanceof Character)) {
                message.setObjectProperty("p_" + property.getKey(), value);
            }
        }
    }

    private void verify(Queue queue, int count) throws Exception {
        try (MessageConsumer consumer = session.createConsumer(queue)) {
            for (int at = 0; at < count; at++) {
                OUT.println(Json.text(describe(consumer.receive(PATIENCE))));
            }
        }
    }

    private void serve(Queue queue, int count) throws Exception {
        try (MessageConsumer consumer = session.createConsumer(queue)) {
            for (int at = 0; at < count; at++) {
                Message request = consumer.receive(PATIENCE);
                Message answer = session.createTextMessage("re: " + string(request));
                answer.setJMSCorrelationID(request.getJMSMessageID());
                try (MessageProducer producer = session.createProducer(answers(request.getJMSReplyTo()))) {
                    producer.send(answer);
                }
                OUT.println(Json.text(describe(request)));
            }
        }
    }

    /** In mode amqp the answers are plain AMQP messages too. */
    private Destination answers(Destination replyTo) throws JMSException {
        String name = ((Queue) replyTo).getQueueName();
        return amqp ? new RMQDestination(name, "", name, name) : replyTo;
    }

    private void ask(Queue queue, String text) throws Exception {
        Queue answers = session.createTemporaryQueue();
        TextMessage request = session.createTextMessage(text);
        request.setJMSReplyTo(answers);
        session.createConsumer(answers).close(); // only this makes the queue
        try (MessageConsumer consumer = session.createConsumer(amqp ? answers(answers) : answers);
                MessageProducer producer = session.createProducer(queue)) {
            producer.send(request);
            OUT.println(Json.text(describe(request)));
            OUT.println(Json.text(describe(consumer.receive(PATIENCE))));
        }
    }

    private void durable(String topic, String name, int count, boolean keep) throws Exception {
        try (MessageConsumer consumer = session.createSharedDurableConsumer(session.createTopic(topic), name)) {
            OUT.println("ready");
            for (int at = 0; at < count; at++) {
                OUT.println(Json.text(describe(consumer.receive(PATIENCE))));
            }
        }
        if (!keep) {
            session.unsubscribe(name);
        }
    }

    private void select(String topic, String name, String selector, int count) throws Exception {
        try (MessageConsumer consumer =
                session.createSharedDurableConsumer(session.createTopic(topic), name, selector)) {
            OUT.println("ready");
            for (int at = 0; at < count; at++) {
                OUT.println(Json.text(describe(consumer.receive(PATIENCE))));
            }
        }
    }

    private void publish(String topic, int count) throws Exception {
        try (MessageProducer producer = session.createProducer(session.createTopic(topic))) {
            for (int at = 0; at < count; at++) {
                Message message = session.createTextMessage("from Java " + at);
                producer.send(message);
                OUT.println(Json.text(describe(message)));
            }
        }
    }

    private static String string(Message message) throws JMSException {
        return message instanceof BytesMessage
                ? new String(message.getBody(byte[].class), StandardCharsets.UTF_8)
                : ((TextMessage) message).getText();
    }

    private static Map<String, Object> describe(Message message) throws Exception {
        if (message == null) {
            throw new IllegalStateException("no message within " + PATIENCE + " ms");
        }
        Map<String, Object> all = new TreeMap<>();
        body(message, all);
        Map<String, Object> properties = new TreeMap<>();
        Enumeration<?> names = message.getPropertyNames();
        while (names.hasMoreElements()) {
            String name = (String) names.nextElement();
            properties.put(name, typed(message.getObjectProperty(name)));
        }
        properties.remove("JMSXDeliveryCount");
        all.put("properties", properties);
        all.put("correlation_id", message.getJMSCorrelationID());
        all.put("delivery_mode", message.getJMSDeliveryMode());
        all.put("expiration", message.getJMSExpiration());
        all.put("message_id", message.getJMSMessageID());
        all.put("priority", message.getJMSPriority());
        all.put("redelivered", message.getJMSRedelivered());
        all.put("reply_to", named(message.getJMSReplyTo()));
        all.put("timestamp", message.getJMSTimestamp());
        all.put("type", message.getJMSType());
        return all;
    }

    private static void body(Message message, Map<String, Object> all) throws Exception {
        Object body = null;
        String kind = "Message";
        if (message instanceof TextMessage text) {
            kind = "TextMessage";
            body = typed(text.getText());
        } else if (message instanceof BytesMessage bytes) {
            kind = "BytesMessage";
            readable(bytes);
            byte[] data = new byte[(int) bytes.getBodyLength()];
            bytes.readBytes(data);
            body = typed(data);
        } else if (message instanceof MapMessage map) {
            kind = "MapMessage";
            Map<String, Object> fields = new TreeMap<>();
            Enumeration<?> names = map.getMapNames();
            while (names.hasMoreElements()) {
                String name = (String) names.nextElement();
                fields.put(name, typed(map.getObject(name)));
            }
            body = fields;
        } else if (message instanceof StreamMessage stream) {
            kind = "StreamMessage";
            List<Object> fields = new ArrayList<>();
            readable(stream);
            for (int at = 0; at < values().size(); at++) {
                fields.add(typed(stream.readObject()));
            }
            body = fields;
        } else if (message instanceof ObjectMessage object) {
            kind = "ObjectMessage";
            body = object.getObject() == null ? null : typed(serialised(object.getObject()));
        }
        all.put("kind", kind);
        all.put("body", body);
    }

    /** A message that was sent is read from its start; one that was received is there already. */
    private static void readable(Message message) throws JMSException {
        if (message instanceof BytesMessage bytes) {
            bytes.reset();
        } else {
            ((StreamMessage) message).reset();
        }
    }

    private static byte[] serialised(Object value) throws Exception {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (ObjectOutputStream out = new ObjectOutputStream(bytes)) {
            out.writeObject(value);
        }
        return bytes.toByteArray();
    }

    private static Object named(Destination destination) throws JMSException {
        if (destination == null) {
            return null;
        }
        RMQDestination known = (RMQDestination) destination;
        String name = known.isQueue() ? ((Queue) known).getQueueName() : ((Topic) known).getTopicName();
        return List.of(known.isQueue() ? "queue" : "topic", known.isTemporary(), name);
    }

    private static Object typed(Object value) {
        if (value == null) {
            return null;
        }
        if (value instanceof byte[] bytes) {
            return List.of("bytes", HexFormat.of().formatHex(bytes));
        }
        return List.of(value.getClass().getSimpleName(), value.toString());
    }

    /** As much JSON as is written here. */
    private static final class Json {
        static String text(Object value) {
            if (value instanceof Map<?, ?> map) {
                List<String> parts = new ArrayList<>();
                map.forEach((name, item) -> parts.add(text(name) + ":" + text(item)));
                return "{" + String.join(",", parts) + "}";
            }
            if (value instanceof List<?> list) {
                return "[" + String.join(",", list.stream().map(Json::text).toList()) + "]";
            }
            if (value instanceof String string) {
                StringBuilder out = new StringBuilder("\"");
                for (char unit : string.toCharArray()) {
                    out.append(unit < 0x20 || unit > 0x7e || unit == '"' || unit == '\\'
                            ? String.format("\\u%04x", (int) unit) : String.valueOf(unit));
                }
                return out.append('"').toString();
            }
            return String.valueOf(value);
        }
    }
}
