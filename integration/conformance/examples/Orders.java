import jakarta.jms.*;
import javax.naming.InitialContext;

/** A Java program that knows nothing of jmsbridge: it sends an order, and another thread answers it. */
public class Orders {
    public static void main(String[] arguments) throws Exception {
        InitialContext names = new InitialContext();
        ConnectionFactory factory = (ConnectionFactory) names.lookup("ConnectionFactory");
        Queue orders = (Queue) names.lookup("queue/orders");
        try (JMSContext shop = factory.createContext(); JMSContext customer = factory.createContext()) {
            shop.createConsumer(orders).setMessageListener(order -> {
                try {
                    shop.createProducer()
                        .setProperty("rush", order.getBooleanProperty("rush"))
                        .send(order.getJMSReplyTo(), "thank you for " + order.getBody(String.class));
                } catch (JMSException error) {
                    throw new RuntimeException(error);
                }
            });
            Queue answers = customer.createTemporaryQueue();
            customer.createProducer().setProperty("rush", true).setJMSReplyTo(answers).send(orders, "two of everything");
            Message answer = customer.createConsumer(answers, "rush = TRUE").receive(10_000);
            System.out.println(answer.getBody(String.class));
        }
    }
}
