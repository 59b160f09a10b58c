import jakarta.jms.Connection;
import jakarta.jms.JMSException;
import jakarta.jms.Message;
import jakarta.jms.MessageConsumer;
import jakarta.jms.MessageProducer;
import jakarta.jms.Session;
import org.apache.qpid.jms.JmsConnectionFactory;

public class CheckOrders {
    public static void main(String[] arguments) throws JMSException {
        var factory = new JmsConnectionFactory(System.getenv("USER_NAME"), System.getenv("PASSWORD"), System.getenv("URL"));
        try (Connection connection = factory.createConnection()) {
            Session session = connection.createSession(Session.SESSION_TRANSACTED);
            MessageConsumer consumer = session.createConsumer(session.createQueue("unchecked"));
            MessageProducer producer = session.createProducer(null);
            connection.start();
            Message message;
            while ((message = consumer.receive()) != null) {
                if (!message.getBody(String.class).isEmpty()) {
                    producer.send(session.createQueue("orders"), message);
                    session.commit();
                } else if (message.getIntProperty("JMSXDeliveryCount") < 3) {
                    session.rollback(); // it comes again
                } else {
                    producer.send(session.createQueue("rejected"), message);
                    session.commit();
                }
            }
        }
    }
}
