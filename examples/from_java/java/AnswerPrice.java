import jakarta.jms.Connection;
import jakarta.jms.JMSException;
import jakarta.jms.Message;
import jakarta.jms.MessageConsumer;
import jakarta.jms.MessageProducer;
import jakarta.jms.Session;
import org.apache.qpid.jms.JmsConnectionFactory;

public class AnswerPrice {
    public static void main(String[] arguments) throws JMSException {
        var factory = new JmsConnectionFactory(System.getenv("USER_NAME"), System.getenv("PASSWORD"), System.getenv("URL"));
        try (Connection connection = factory.createConnection()) {
            Session session = connection.createSession(Session.SESSION_TRANSACTED);
            MessageConsumer consumer = session.createConsumer(session.createQueue("prices"));
            MessageProducer producer = session.createProducer(null);
            connection.start();
            Message question;
            while ((question = consumer.receive()) != null) {
                Message reply = session.createMessage();
                reply.setDoubleProperty("price", 1.5 * question.getBody(String.class).length());
                reply.setJMSCorrelationID(question.getJMSMessageID());
                producer.send(question.getJMSReplyTo(), reply);
                session.commit();
            }
        }
    }
}
