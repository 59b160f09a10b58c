import jakarta.jms.Connection;
import jakarta.jms.MessageProducer;
import jakarta.jms.Session;
import jakarta.jms.TextMessage;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.qpid.jms.JmsConnectionFactory;

/** Sends the text of one message from one queue to another, in a message listener; knows nothing of telemetry. */
public class Forward {
    public static void main(String[] args) throws Exception {
        CountDownLatch done = new CountDownLatch(1);
        try (Connection connection = new JmsConnectionFactory(args[1], args[2], args[0]).createConnection()) {
            Session session = connection.createSession();
            MessageProducer producer = session.createProducer(session.createQueue(args[4]));
            session.createConsumer(session.createQueue(args[3])).setMessageListener(message -> {
                try {
                    producer.send(session.createTextMessage(((TextMessage) message).getText()));
                    done.countDown();
                } catch (Exception error) {
                    error.printStackTrace();
                }
            });
            connection.start();
            System.out.println("ready");
            if (!done.await(60, TimeUnit.SECONDS)) {
                System.exit(1);
            }
        }
    }
}
