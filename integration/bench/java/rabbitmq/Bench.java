import com.rabbitmq.jms.admin.RMQConnectionFactory;
import com.rabbitmq.jms.admin.RMQDestination;
import jakarta.jms.ConnectionFactory;
import jakarta.jms.Queue;
import jakarta.jms.Session;

/** RabbitMQ's JMS client at a queue that exists already, of whatever type. */
public final class Bench extends Factory implements Timed {
    private static final int PREFETCH = 250; // that of all clients here

    @Override
    public ConnectionFactory factory(String address) throws Exception {
        RMQConnectionFactory factory = (RMQConnectionFactory) super.factory(address);
        factory.setChannelsQos(PREFETCH);
        return factory;
    }

    @Override
    public Queue queue(Session session, String name) {
        return new RMQDestination(name, "", name, name);
    }
}
