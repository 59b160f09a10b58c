import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertThrows;

import jakarta.jms.*;
import javax.naming.InitialContext;
import org.junit.Test;

/** A JUnit test of one's own: the factory comes from JNDI, everything else is Jakarta Messaging. */
public class OrdersTest {
    private final ConnectionFactory factory;

    public OrdersTest() throws Exception {
        factory = (ConnectionFactory) new InitialContext().lookup("ConnectionFactory");
    }

    @Test
    public void aRollbackBringsTheOrderBack() throws Exception {
        try (JMSContext context = factory.createContext(JMSContext.SESSION_TRANSACTED)) {
            Queue orders = context.createQueue("orders-test");
            context.createProducer().send(orders, "two of everything");
            context.commit();
            JMSConsumer consumer = context.createConsumer(orders);
            consumer.receive(10_000);
            context.rollback();
            Message again = consumer.receive(10_000);
            assertEquals(2, again.getIntProperty("JMSXDeliveryCount"));
            context.commit();
        }
    }

    @Test
    public void aQueueHasAName() {
        try (JMSContext context = factory.createContext()) {
            assertThrows(InvalidDestinationRuntimeException.class, () -> context.createQueue(""));
        }
    }
}
