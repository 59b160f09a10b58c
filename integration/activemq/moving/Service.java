import jakarta.jms.Connection;
import jakarta.jms.MessageConsumer;
import jakarta.jms.MessageProducer;
import jakarta.jms.Queue;
import jakarta.jms.Session;
import jakarta.jms.TextMessage;
import org.apache.activemq.ActiveMQConnectionFactory;

/**
 * The service that is moved, with ActiveMQ's own client: it sends orders, ten customers in turn, or handles at most some
 * until none comes any more.
 *
 * <pre>java Service URL USER PASSWORD send|handle COUNT</pre>
 */
public final class Service {
    public static void main(String[] arguments) throws Exception {
        ActiveMQConnectionFactory factory = new ActiveMQConnectionFactory(arguments[0]);
        int count = Integer.parseInt(arguments[4]);
        try (Connection connection = factory.createConnection(arguments[1], arguments[2])) {
            connection.start();
            Session session = connection.createSession(false, Session.CLIENT_ACKNOWLEDGE);
            Queue orders = session.createQueue("orders");
            if (arguments[3].equals("send")) {
                send(session, orders, count);
            } else {
                handle(session, orders, count);
            }
        }
    }

    private static void send(Session session, Queue orders, int count) throws Exception {
        MessageProducer producer = session.createProducer(orders);
        for (int number = 0; number < count; number++) {
            TextMessage order = session.createTextMessage("order " + number);
            order.setIntProperty("number", number);
            order.setStringProperty("JMSXGroupID", "customer " + number % 10);
            producer.send(order);
        }
    }

    private static void handle(Session session, Queue orders, int count) throws Exception {
        MessageConsumer consumer = session.createConsumer(orders);
        System.out.println("ready");
        for (int handled = 0; handled < count; handled++) {
            TextMessage order = (TextMessage) consumer.receive(10_000);
            if (order == null) {
                return;
            }
            System.out.println(order.getIntProperty("number"));
            order.acknowledge();
        }
    }
}
