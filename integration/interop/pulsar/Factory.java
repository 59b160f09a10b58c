import com.datastax.oss.pulsar.jms.PulsarConnectionFactory;
import jakarta.jms.ConnectionFactory;
import java.util.Map;

/** Starlight for JMS: one factory for all connections, since each has a client of Pulsar. */
public class Factory implements Client {
    private PulsarConnectionFactory factory;

    @Override
    public ConnectionFactory factory(String address) throws Exception {
        if (factory == null) {
            String[] parts = address.split("\\?admin_url=");
            factory = new PulsarConnectionFactory(Map.of("brokerServiceUrl", parts[0], "webServiceUrl", parts[1]));
        }
        return factory;
    }
}
