import com.rabbitmq.jms.admin.RMQConnectionFactory;
import com.rabbitmq.jms.admin.RMQDestination;
import jakarta.jms.ConnectionFactory;
import jakarta.jms.Destination;
import jakarta.jms.JMSException;
import jakarta.jms.Queue;
import jakarta.jms.Session;
import jakarta.jms.Topic;
import java.util.List;

/** RabbitMQ's JMS client at its own destinations. */
public class Factory implements Client {
    @Override
    public ConnectionFactory factory(String address) throws Exception {
        RMQConnectionFactory factory = new RMQConnectionFactory();
        factory.setUri(address);
        // By default the client declares whatever it answers to, which another's temporary queue forbids.
        factory.setDeclareReplyToDestination(false);
        return factory;
    }

    @Override
    public void declare(Session session, Destination temporary) throws JMSException {
        session.createConsumer(temporary).close(); // only this makes the queue
    }

    @Override
    public List<Object> named(Destination destination) throws JMSException {
        RMQDestination known = (RMQDestination) destination; // of all kinds at once
        String name = known.isQueue() ? ((Queue) known).getQueueName() : ((Topic) known).getTopicName();
        return List.of(known.isQueue() ? "queue" : "topic", known.isTemporary(), name);
    }
}
