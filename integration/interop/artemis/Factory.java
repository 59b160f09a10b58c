import jakarta.jms.ConnectionFactory;
import org.apache.activemq.artemis.jms.client.ActiveMQConnectionFactory;

/** Artemis' own client, which speaks its core protocol. */
public class Factory implements Client {
    @Override
    public ConnectionFactory factory(String address) {
        return new ActiveMQConnectionFactory(address);
    }
}
