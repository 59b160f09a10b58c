import jakarta.jms.Connection;
import jakarta.jms.JMSException;
import jakarta.jms.Message;
import jakarta.jms.MessageConsumer;
import jakarta.jms.Session;
import org.apache.qpid.jms.JmsConnectionFactory;

public class HearOrders {
    static void onMessage(Message message) {
        try {
            System.out.println("order " + message.getIntProperty("number") + ": " + message.getBody(String.class));
        } catch (JMSException error) {
            throw new IllegalStateException(error);
        }
    }

    public static void main(String[] arguments) throws JMSException, InterruptedException {
        var factory = new JmsConnectionFactory(System.getenv("USER_NAME"), System.getenv("PASSWORD"), System.getenv("URL"));
        try (Connection connection = factory.createConnection()) {
            Session session = connection.createSession(Session.AUTO_ACKNOWLEDGE);
            MessageConsumer consumer = session.createConsumer(session.createQueue("orders"), "JMSType = 'order'");
            consumer.setMessageListener(HearOrders::onMessage);
            connection.start();
            Thread.currentThread().join();
        }
    }
}
