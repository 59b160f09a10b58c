// A broker's own JMS client in the benchmark: java -cp … Peer ROLE URL QUEUE
// Roles: sync, async (completion listeners, a window of 1000), transacted (commits of 100), auto and dups_ok (listeners).
// Prints "ready", then for each number on its standard input the seconds and the CPU seconds that so many messages took.

import com.sun.management.OperatingSystemMXBean;
import jakarta.jms.CompletionListener;
import jakarta.jms.Connection;
import jakarta.jms.ConnectionFactory;
import jakarta.jms.JMSException;
import jakarta.jms.Message;
import jakarta.jms.MessageConsumer;
import jakarta.jms.MessageProducer;
import jakarta.jms.Queue;
import jakarta.jms.Session;
import jakarta.jms.TextMessage;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.net.URI;
import java.util.Locale;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicReference;

public final class Peer {
    private static final String BODY = "x".repeat(256);
    private static final int WINDOW = 1000;
    private static final int BATCH = 100;

    private final Bench client;
    private final Session session;
    private final Queue queue;
    private final MessageProducer producer;

    private Peer(Bench client, Session session, Queue queue) throws Exception {
        this.client = client;
        this.session = session;
        this.queue = queue;
        this.producer = session.createProducer(queue);
    }

    public static void main(String[] arguments) throws Exception {
        String role = arguments[0];
        URI url = new URI(arguments[1]);
        String query = url.getQuery() == null ? "" : "?" + url.getQuery();
        Bench client = new Bench();
        ConnectionFactory factory =
                client.factory(url.getScheme() + "://" + url.getHost() + ":" + url.getPort() + query);
        try (Connection connection = connect(factory, url.getUserInfo())) {
            connection.start();
            int mode = switch (role) {
                case "transacted" -> Session.SESSION_TRANSACTED;
                case "dups_ok" -> Session.DUPS_OK_ACKNOWLEDGE;
                default -> Session.AUTO_ACKNOWLEDGE;
            };
            Session session = connection.createSession(mode);
            new Peer(client, session, client.queue(session, arguments[2])).serve(role);
        }
        System.exit(0); // a factory may have threads of its own
    }

    private static Connection connect(ConnectionFactory factory, String user) throws JMSException {
        String[] login = user == null ? null : user.split(":");
        return login == null ? factory.createConnection() : factory.createConnection(login[0], login[1]);
    }

    private void serve(String role) throws Exception {
        OperatingSystemMXBean system = (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
        System.out.println("ready");
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            int count = Integer.parseInt(line.trim());
            long cpu = system.getProcessCpuTime();
            long started = System.nanoTime();
            switch (role) {
                case "sync" -> sendSync(count);
                case "async" -> sendAsync(count);
                case "transacted" -> sendTransacted(count);
                case "auto", "dups_ok" -> receive(count);
                default -> throw new IllegalArgumentException(role);
            }
            long took = System.nanoTime() - started;
            System.out.printf(Locale.ROOT, "%.6f %.6f%n", took / 1e9, (system.getProcessCpuTime() - cpu) / 1e9);
        }
    }

    private TextMessage message() throws Exception {
        TextMessage message = session.createTextMessage(BODY);
        message.setStringProperty("customer", "c-4711");
        message.setIntProperty("number", 42);
        message.setLongProperty("sequence", 1L << 40);
        message.setDoubleProperty("price", 9.75);
        message.setBooleanProperty("rush", true);
        return message;
    }

    private void sendAsync(int count) throws Exception {
        Semaphore room = new Semaphore(WINDOW);
        CountDownLatch done = new CountDownLatch(count);
        AtomicReference<Exception> failure = new AtomicReference<>();
        CompletionListener listener = new CompletionListener() {
            @Override
            public void onCompletion(Message message) {
                room.release();
                done.countDown();
            }

            @Override
            public void onException(Message message, Exception error) {
                failure.set(error);
                onCompletion(message);
            }
        };
        for (int number = 0; number < count; number++) {
            room.acquire();
            client.send(producer, message(), listener);
        }
        done.await();
        if (failure.get() != null) {
            throw failure.get();
        }
    }

    private void sendSync(int count) throws Exception {
        for (int number = 0; number < count; number++) {
            producer.send(message());
        }
    }

    private void sendTransacted(int count) throws Exception {
        for (int number = 1; number <= count; number++) {
            producer.send(message());
            if (number % BATCH == 0 || number == count) {
                session.commit();
            }
        }
    }

    private void receive(int count) throws Exception {
        CountDownLatch done = new CountDownLatch(count);
        AtomicReference<Exception> failure = new AtomicReference<>();
        try (MessageConsumer consumer = session.createConsumer(queue)) {
            consumer.setMessageListener(message -> {
                try {
                    if (((TextMessage) message).getText().length() != 256 || message.getIntProperty("number") != 42) {
                        throw new IllegalStateException("not what was sent: " + message);
                    }
                } catch (Exception error) {
                    failure.set(error);
                }
                done.countDown();
            });
            done.await();
        }
        if (failure.get() != null) {
            throw failure.get();
        }
    }
}
