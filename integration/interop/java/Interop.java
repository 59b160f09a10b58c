import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import com.google.gson.ToNumberPolicy;
import jakarta.jms.BytesMessage;
import jakarta.jms.Connection;
import jakarta.jms.ConnectionFactory;
import jakarta.jms.Destination;
import jakarta.jms.JMSException;
import jakarta.jms.Message;
import jakarta.jms.MessageConsumer;
import jakarta.jms.MessageProducer;
import jakarta.jms.Queue;
import jakarta.jms.Session;
import jakarta.jms.TextMessage;
import jakarta.jms.Topic;
import java.io.PrintStream;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;

/**
 * The Java side of the interop tests, for every client: one JSON line on standard output for each message.
 *
 * <pre>java Interop CLIENT URI COMMAND ARGUMENTS, these as one JSON object
 *   write {messages}          send each to its queue, and describe what was sent
 *   read {queues}             describe the first message of each queue, waiting for so many milliseconds
 *   serve {queue, count}      answer requests
 *   ask {queue, text, topic}  send a request with a temporary destination, describe it and the answer
 *   subscribe {topic, name, shared, selector, count, keep, client_id}
 *                             receive by a durable subscription, then forget it unless it is kept
 *   publish {topic, count}    send numbered texts
 *   forward {queue, to, type, correlation_id, reply_to, priority, clear}
 *                             send a message on with these headers, without its properties if these are cleared</pre>
 */
public final class Interop {
    private static final long PATIENCE = 60_000;
    private static final PrintStream OUT = new PrintStream(System.out, true, StandardCharsets.UTF_8);
    private static final Gson JSON = new GsonBuilder()
            .serializeNulls().disableHtmlEscaping().setObjectToNumberStrategy(ToNumberPolicy.LONG_OR_DOUBLE).create();
    private final Client client;
    private final URI address;
    private final Session session;
    private final Messages messages;
    private final Map<?, ?> told;

    private Interop(Client client, URI address, Session session, Map<?, ?> told) {
        this.client = client;
        this.address = address;
        this.session = session;
        this.messages = new Messages(session, client);
        this.told = told;
    }

    public static void main(String[] arguments) {
        int status = 0;
        try {
            run(arguments);
        } catch (Exception error) {
            error.printStackTrace();
            status = 1;
        }
        System.exit(status); // the threads of some clients go on, or take seconds to end
    }

    private static void run(String[] arguments) throws Exception {
        Client client = (Client) Class.forName(arguments[0]).getDeclaredConstructor().newInstance();
        Map<?, ?> told = JSON.fromJson(arguments[3], Map.class);
        URI address = new URI(arguments[1]);
        try (Connection connection = connect(client, address)) {
            if (told.get("client_id") instanceof String id) {
                connection.setClientID(id);
            }
            connection.start();
            try (Session session = connection.createSession(false, Session.AUTO_ACKNOWLEDGE)) {
                new Interop(client, address, session, told).run(arguments[2]);
            }
        }
    }

    private static Connection connect(Client client, URI uri) throws Exception {
        String query = uri.getQuery() == null ? "" : "?" + uri.getQuery();
        ConnectionFactory factory =
                client.factory(uri.getScheme() + "://" + uri.getHost() + ":" + uri.getPort() + query);
        if (uri.getUserInfo() == null) {
            return factory.createConnection();
        }
        String[] login = uri.getUserInfo().split(":", 2);
        return factory.createConnection(login[0], login[1]);
    }

    private void run(String command) throws Exception {
        switch (command) {
            case "write" -> write((List<?>) told.get("messages"));
            case "read" -> read((List<?>) told.get("queues"));
            case "serve" -> serve();
            case "ask" -> ask();
            case "subscribe" -> subscribe();
            case "publish" -> publish();
            case "forward" -> forward();
            default -> throw new IllegalArgumentException(command);
        }
    }

    private String text(String name) {
        return (String) told.get(name);
    }

    private int count() {
        return ((Number) told.get("count")).intValue();
    }

    private void print(Object value) {
        OUT.println(JSON.toJson(value));
    }

    /** The next message, described; an error takes the place of one that does not come. */
    private Map<String, Object> next(MessageConsumer consumer, long patience) throws Exception {
        Message message = consumer.receive(patience);
        return message == null ? Map.of("error", "no message within " + patience + " ms") : messages.describe(message);
    }

    private void write(List<?> all) throws Exception {
        for (Object each : all) {
            Map<?, ?> one = (Map<?, ?>) each;
            try (MessageProducer producer = session.createProducer(client.queue(session, (String) one.get("queue")))) {
                Message message = messages.make(one);
                if (number(one, "delivery_delay") > 0) {
                    producer.setDeliveryDelay(number(one, "delivery_delay"));
                }
                producer.send(message, (int) number(one, "delivery_mode"), (int) number(one, "priority"),
                        number(one, "time_to_live"));
                print(messages.describe(message));
            } catch (JMSException | RuntimeException error) { // some clients do not have all of JMS 2.0
                print(Map.of("error", String.valueOf(error)));
            }
        }
    }

    private static long number(Map<?, ?> map, String name) {
        return ((Number) map.get(name)).longValue();
    }

    /** Each by a connection of its own, since a message that cannot be read ends that of some clients. */
    private void read(List<?> queues) {
        for (Object each : queues) {
            Map<?, ?> one = (Map<?, ?>) each;
            Map<String, Object> found = null;
            Exception failed = null;
            try (Connection own = connect(client, address)) {
                own.start();
                Session reading = own.createSession(false, Session.AUTO_ACKNOWLEDGE);
                Queue queue = client.queue(reading, (String) one.get("queue"));
                found = next(reading.createConsumer(queue), number(one, "patience"));
            } catch (Exception error) { // some also fail to close then
                failed = error;
            }
            print(found == null ? Map.of("error", String.valueOf(failed)) : found);
        }
    }

    private void serve() throws Exception {
        try (MessageConsumer consumer = session.createConsumer(client.queue(session, text("queue")))) {
            for (int at = 0; at < count(); at++) {
                Message request = consumer.receive(PATIENCE);
                Message answer = session.createTextMessage("re: " + words(request));
                answer.setJMSCorrelationID(request.getJMSMessageID());
                try (MessageProducer producer = session.createProducer(client.answers(request.getJMSReplyTo()))) {
                    producer.send(answer);
                }
                print(messages.describe(request));
            }
        }
    }

    private static String words(Message message) throws JMSException {
        return message instanceof BytesMessage
                ? new String(message.getBody(byte[].class), StandardCharsets.UTF_8)
                : ((TextMessage) message).getText();
    }

    private void ask() throws Exception {
        Destination answers = told.get("topic").equals(true) ? session.createTemporaryTopic()
                : session.createTemporaryQueue();
        client.declare(session, answers);
        TextMessage request = session.createTextMessage(text("text"));
        request.setJMSReplyTo(answers);
        try (MessageConsumer consumer = session.createConsumer(client.answers(answers));
                MessageProducer producer = session.createProducer(client.queue(session, text("queue")))) {
            producer.send(request);
            print(messages.describe(request));
            print(next(consumer, PATIENCE));
        }
    }

    private void subscribe() throws Exception {
        Topic topic = session.createTopic(text("topic"));
        try (MessageConsumer consumer = told.get("shared").equals(true)
                ? session.createSharedDurableConsumer(topic, text("name"), text("selector"))
                : session.createDurableConsumer(topic, text("name"), text("selector"), false)) {
            OUT.println("ready");
            for (int at = 0; at < count(); at++) {
                print(next(consumer, PATIENCE));
            }
        }
        if (told.get("keep").equals(false)) {
            session.unsubscribe(text("name"));
        }
    }

    private void forward() throws Exception {
        try (MessageConsumer consumer = session.createConsumer(client.queue(session, text("queue")));
                MessageProducer producer = session.createProducer(client.queue(session, text("to")))) {
            Message message = consumer.receive(PATIENCE);
            if (told.get("clear").equals(true)) {
                message.clearProperties();
            }
            message.setJMSType(text("type"));
            message.setJMSCorrelationID(text("correlation_id"));
            message.setJMSReplyTo(client.queue(session, text("reply_to")));
            producer.send(message, message.getJMSDeliveryMode(), (int) number(told, "priority"), 0);
            print(messages.describe(message));
        }
    }

    private void publish() throws Exception {
        try (MessageProducer producer = session.createProducer(session.createTopic(text("topic")))) {
            for (int at = 0; at < count(); at++) {
                Message message = session.createTextMessage("from Java " + at);
                producer.send(message);
                print(messages.describe(message));
            }
        }
    }
}
