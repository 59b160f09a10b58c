import jakarta.jms.Connection;
import jakarta.jms.JMSException;
import jakarta.jms.Message;
import jakarta.jms.MessageConsumer;
import jakarta.jms.Session;
import jakarta.jms.TemporaryQueue;
import jakarta.jms.TextMessage;
import org.apache.qpid.jms.JmsConnectionFactory;

public class AskPrice {
    public static void main(String[] arguments) throws JMSException {
        var factory = new JmsConnectionFactory(System.getenv("USER_NAME"), System.getenv("PASSWORD"), System.getenv("URL"));
        try (Connection connection = factory.createConnection()) {
            Session session = connection.createSession(Session.AUTO_ACKNOWLEDGE);
            TemporaryQueue replies = session.createTemporaryQueue();
            MessageConsumer consumer = session.createConsumer(replies);
            connection.start();
            TextMessage question = session.createTextMessage("ink");
            question.setJMSReplyTo(replies);
            session.createProducer(session.createQueue("prices")).send(question);
            Message reply = consumer.receive(30_000);
            if (reply == null || !question.getJMSMessageID().equals(reply.getJMSCorrelationID())) {
                throw new IllegalStateException("no reply");
            }
            System.out.println("ink: " + reply.getDoubleProperty("price"));
        }
    }
}
