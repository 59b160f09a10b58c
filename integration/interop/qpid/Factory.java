import jakarta.jms.ConnectionFactory;
import org.apache.qpid.jms.JmsConnectionFactory;

/** Qpid JMS, which speaks AMQP 1.0. */
public class Factory implements Client {
    @Override
    public ConnectionFactory factory(String address) {
        return new JmsConnectionFactory(address);
    }
}
