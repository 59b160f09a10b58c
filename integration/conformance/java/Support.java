import jakarta.jms.*;
import java.util.UUID;
import java.util.concurrent.Callable;
import javax.naming.InitialContext;
import org.junit.After;
import org.junit.Assert;
import org.junit.Before;

/** A started connection with a session, and a queue and a topic that no other test has. */
public abstract class Support {
    static final int SOON = 10_000;

    ConnectionFactory factory;
    Connection connection;
    Session session;
    Queue queue;
    Topic topic;

    @Before
    public void connect() throws Exception {
        factory = (ConnectionFactory) new InitialContext().lookup("ConnectionFactory");
        connection = factory.createConnection();
        session = connection.createSession(false, Session.AUTO_ACKNOWLEDGE);
        queue = session.createQueue("face." + UUID.randomUUID());
        topic = session.createTopic("face." + UUID.randomUUID());
        connection.start();
    }

    @After
    public void disconnect() throws Exception {
        connection.close();
    }

    /** The same message after a journey through the broker. */
    @SuppressWarnings("unchecked")
    <M extends Message> M sent(M message) throws Exception {
        session.createProducer(queue).send(message);
        try (MessageConsumer consumer = session.createConsumer(queue)) {
            return (M) consumer.receive(SOON);
        }
    }

    interface Action {
        void run() throws Exception;
    }

    /** The exception that an action throws: of exactly that class. */
    static <E extends Throwable> E thrown(Class<E> kind, Action action) {
        try {
            action.run();
        } catch (Throwable error) {
            if (error.getClass() != kind) {
                throw new AssertionError("not " + kind + " but " + error, error);
            }
            return kind.cast(error);
        }
        throw new AssertionError("not " + kind + ": nothing was thrown");
    }

    /** Waits until something is so. */
    static void eventually(Callable<Boolean> fact) throws Exception {
        long end = System.currentTimeMillis() + SOON;
        while (!fact.call()) {
            Assert.assertTrue("it never became so", System.currentTimeMillis() < end);
            Thread.sleep(5);
        }
    }
}
