package shop.prices;

import jakarta.annotation.Resource;
import jakarta.inject.Inject;
import jakarta.jms.JMSConnectionFactory;
import jakarta.jms.JMSConsumer;
import jakarta.jms.JMSContext;
import jakarta.jms.JMSDestinationDefinition;
import jakarta.jms.Queue;
import jakarta.jms.Topic;

@JMSDestinationDefinition(name = "java:app/prices", interfaceName = "jakarta.jms.Topic", destinationName = "prices")
public class Prices {
    @Inject
    @JMSConnectionFactory("java:/shop")
    private JMSContext context;

    @Resource(lookup = "java:app/prices")
    private Topic prices;

    public void publish(double price) {
        context.createProducer()
            .setDeliveryDelay(1000)
            .setPriority(7)
            .setProperty("currency", "EUR")
            .send(prices, "price " + price);
    }

    public String follow() {
        try (JMSConsumer consumer = context.createSharedDurableConsumer(prices, "audit")) {
            return consumer.receiveBody(String.class, 5000);
        }
    }
}
