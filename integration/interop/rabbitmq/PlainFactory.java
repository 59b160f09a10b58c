import com.rabbitmq.jms.admin.RMQConnectionFactory;
import com.rabbitmq.jms.admin.RMQDestination;
import com.rabbitmq.jms.client.HandleAnyReplyToStrategy;
import jakarta.jms.ConnectionFactory;
import jakarta.jms.Destination;
import jakarta.jms.JMSException;
import jakarta.jms.Queue;
import jakarta.jms.Session;

/** RabbitMQ's JMS client at queues of plain AMQP messages. */
public final class PlainFactory extends Factory {
    @Override
    public ConnectionFactory factory(String address) throws Exception {
        RMQConnectionFactory factory = (RMQConnectionFactory) super.factory(address);
        // By default the client ignores the reply-to of plain AMQP messages.
        factory.setReplyToStrategy(HandleAnyReplyToStrategy.INSTANCE);
        return factory;
    }

    @Override
    public Queue queue(Session session, String name) throws JMSException {
        return new RMQDestination(name, "", name, name);
    }

    @Override
    public Destination answers(Destination replyTo) throws JMSException {
        return queue(null, ((Queue) replyTo).getQueueName()); // the answers are plain AMQP messages too
    }
}
