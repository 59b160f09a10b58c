import jakarta.jms.ConnectionFactory;
import org.apache.activemq.ActiveMQConnectionFactory;

/** The client of ActiveMQ Classic, which speaks OpenWire. */
public class Factory implements Client {
    @Override
    public ConnectionFactory factory(String address) {
        ActiveMQConnectionFactory factory = new ActiveMQConnectionFactory(address);
        factory.setTrustAllPackages(true); // by default it reads no object
        // By default the client sends to no temporary destination that the broker has not told it of.
        factory.setWatchTopicAdvisories(false);
        return factory;
    }
}
