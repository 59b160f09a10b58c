import jakarta.jms.Connection;
import jakarta.jms.JMSException;
import jakarta.jms.MessageProducer;
import jakarta.jms.Session;
import jakarta.jms.TextMessage;
import org.apache.qpid.jms.JmsConnectionFactory;

public class SendOrders {
    public static void main(String[] arguments) throws JMSException {
        var factory = new JmsConnectionFactory(System.getenv("USER_NAME"), System.getenv("PASSWORD"), System.getenv("URL"));
        try (Connection connection = factory.createConnection()) {
            Session session = connection.createSession(Session.AUTO_ACKNOWLEDGE);
            MessageProducer producer = session.createProducer(session.createQueue("orders"));
            producer.setTimeToLive(60_000);
            int number = 1;
            for (String article : new String[] {"pen", "paper"}) {
                TextMessage message = session.createTextMessage(article);
                message.setJMSType("order");
                message.setIntProperty("number", number++);
                producer.send(message);
            }
        }
    }
}
