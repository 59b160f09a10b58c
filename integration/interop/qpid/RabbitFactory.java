import jakarta.jms.ConnectionFactory;
import org.apache.qpid.jms.JmsConnectionFactory;

/** Qpid JMS with the addresses of RabbitMQ 4. */
public class RabbitFactory implements Client {
    @Override
    public ConnectionFactory factory(String address) {
        return new JmsConnectionFactory(address + "?jms.queuePrefix=/queues/&jms.topicPrefix=/exchanges/amq.topic/");
    }
}
