import jakarta.jms.ConnectionFactory;
import org.apache.qpid.jms.JmsConnectionFactory;

/** Qpid JMS with the prefix that Qpid Broker-J needs for topics. */
public class BrokerJFactory implements Client {
    @Override
    public ConnectionFactory factory(String address) {
        return new JmsConnectionFactory(address + "?jms.topicPrefix=amq.topic/");
    }
}
