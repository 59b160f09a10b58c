import jakarta.jms.BytesMessage;
import jakarta.jms.Destination;
import jakarta.jms.JMSException;
import jakarta.jms.MapMessage;
import jakarta.jms.Message;
import jakarta.jms.MessageEOFException;
import jakarta.jms.ObjectMessage;
import jakarta.jms.Session;
import jakarta.jms.StreamMessage;
import jakarta.jms.TextMessage;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.Enumeration;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** Messages from their descriptions in JSON, and the other way; every value is [Java class, its text]. */
final class Messages {
    private final Session session;
    private final Client client;

    Messages(Session session, Client client) {
        this.session = session;
        this.client = client;
    }

    /** The message that was described. */
    Message make(Map<?, ?> told) throws Exception {
        Message message = body((String) told.get("kind"), told.get("body"));
        for (Map.Entry<?, ?> property : ((Map<?, ?>) told.get("properties")).entrySet()) {
            message.setObjectProperty((String) property.getKey(), value(property.getValue()));
        }
        if (told.get("correlation_id") instanceof String id) {
            message.setJMSCorrelationID(id);
        }
        if (told.get("correlation_bytes") instanceof List<?> bytes) {
            message.setJMSCorrelationIDAsBytes((byte[]) value(bytes));
        }
        if (told.get("type") instanceof String type) {
            message.setJMSType(type);
        }
        if (told.get("reply_to") instanceof List<?> replyTo) {
            message.setJMSReplyTo(destination(replyTo));
        }
        return message;
    }

    private Destination destination(List<?> told) throws JMSException {
        boolean queue = told.get(0).equals("queue");
        if (told.get(1).equals(true)) {
            return queue ? session.createTemporaryQueue() : session.createTemporaryTopic();
        }
        return queue ? session.createQueue((String) told.get(2)) : session.createTopic((String) told.get(2));
    }

    private Message body(String kind, Object body) throws Exception {
        return switch (kind) {
            case "TextMessage" -> session.createTextMessage((String) value(body));
            case "BytesMessage" -> {
                BytesMessage bytes = session.createBytesMessage();
                bytes.writeBytes((byte[]) value(body));
                yield bytes;
            }
            case "MapMessage" -> {
                MapMessage map = session.createMapMessage();
                for (Map.Entry<?, ?> field : ((Map<?, ?>) body).entrySet()) {
                    map.setObject((String) field.getKey(), value(field.getValue()));
                }
                yield map;
            }
            case "StreamMessage" -> {
                StreamMessage stream = session.createStreamMessage();
                for (Object field : (List<?>) body) {
                    stream.writeObject(value(field));
                }
                yield stream;
            }
            case "ObjectMessage" -> session.createObjectMessage(body == null ? null : read((byte[]) value(body)));
            default -> session.createMessage();
        };
    }

    /** What can be said of a message that was sent or received. */
    Map<String, Object> describe(Message message) throws Exception {
        Map<String, Object> all = new TreeMap<>();
        String kind = kind(message);
        all.put("kind", kind);
        all.put("body", body(kind, message));
        Map<String, Object> properties = new TreeMap<>();
        Enumeration<?> names = message.getPropertyNames();
        while (names.hasMoreElements()) {
            String name = (String) names.nextElement();
            properties.put(name, typed(message.getObjectProperty(name)));
        }
        properties.remove("JMSXDeliveryCount");
        all.put("properties", properties);
        all.put("correlation_id", message.getJMSCorrelationID());
        all.put("correlation_bytes", correlation(message));
        all.put("delivery_mode", message.getJMSDeliveryMode());
        all.put("delivery_time", message.getJMSDeliveryTime());
        all.put("destination", named(message.getJMSDestination()));
        all.put("expiration", message.getJMSExpiration());
        all.put("message_id", message.getJMSMessageID());
        all.put("priority", message.getJMSPriority());
        all.put("redelivered", message.getJMSRedelivered());
        all.put("reply_to", named(message.getJMSReplyTo()));
        all.put("timestamp", message.getJMSTimestamp());
        all.put("type", message.getJMSType());
        return all;
    }

    private Object named(Destination destination) throws JMSException {
        return destination == null ? null : client.named(destination);
    }

    private static Object correlation(Message message) {
        try {
            return typed(message.getJMSCorrelationIDAsBytes());
        } catch (JMSException | RuntimeException error) {
            return null; // some clients refuse it for a text
        }
    }

    private static String kind(Message message) {
        return message instanceof TextMessage ? "TextMessage"
                : message instanceof BytesMessage ? "BytesMessage"
                : message instanceof MapMessage ? "MapMessage"
                : message instanceof StreamMessage ? "StreamMessage"
                : message instanceof ObjectMessage ? "ObjectMessage" : "Message";
    }

    private static Object body(String kind, Message message) throws Exception {
        switch (kind) {
            case "TextMessage":
                return typed(((TextMessage) message).getText());
            case "BytesMessage":
                ((BytesMessage) message).reset(); // one that was sent is read from its start
                byte[] data = new byte[(int) ((BytesMessage) message).getBodyLength()];
                ((BytesMessage) message).readBytes(data);
                return typed(data);
            case "MapMessage":
                Map<String, Object> fields = new TreeMap<>();
                Enumeration<?> names = ((MapMessage) message).getMapNames();
                while (names.hasMoreElements()) {
                    String name = (String) names.nextElement();
                    fields.put(name, typed(((MapMessage) message).getObject(name)));
                }
                return fields;
            case "StreamMessage":
                ((StreamMessage) message).reset();
                return fields((StreamMessage) message);
            case "ObjectMessage":
                Object value = ((ObjectMessage) message).getObject();
                return value == null ? null : typed(written(value));
            default:
                return null;
        }
    }

    private static List<Object> fields(StreamMessage stream) throws JMSException {
        List<Object> fields = new ArrayList<>();
        while (true) {
            try {
                fields.add(typed(stream.readObject()));
            } catch (MessageEOFException end) {
                return fields;
            }
        }
    }

    private static Object typed(Object value) {
        return value == null ? null
                : value instanceof byte[] bytes ? List.of("bytes", HexFormat.of().formatHex(bytes))
                : List.of(value.getClass().getSimpleName(), value.toString());
    }

    private static Object value(Object typed) {
        if (typed == null) {
            return null;
        }
        String text = (String) ((List<?>) typed).get(1);
        return switch ((String) ((List<?>) typed).get(0)) {
            case "Boolean" -> Boolean.valueOf(text);
            case "Byte" -> Byte.valueOf(text);
            case "Short" -> Short.valueOf(text);
            case "Integer" -> Integer.valueOf(text);
            case "Long" -> Long.valueOf(text);
            case "Float" -> Float.valueOf(text);
            case "Double" -> Double.valueOf(text);
            case "Character" -> text.charAt(0);
            case "bytes" -> HexFormat.of().parseHex(text);
            default -> text;
        };
    }

    private static Serializable read(byte[] stream) throws Exception {
        try (ObjectInputStream in = new ObjectInputStream(new ByteArrayInputStream(stream))) {
            return (Serializable) in.readObject();
        }
    }

    private static byte[] written(Object value) throws Exception {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (ObjectOutputStream out = new ObjectOutputStream(bytes)) {
            out.writeObject(value);
        }
        return bytes.toByteArray();
    }
}
