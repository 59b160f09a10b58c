import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.qpid.jms.JmsConnectionFactory;
import org.apache.qpid.jms.JmsQueue;
import org.springframework.jms.core.JmsTemplate;
import org.springframework.jms.listener.DefaultMessageListenerContainer;
import org.springframework.jms.listener.adapter.MessageListenerAdapter;
import org.springframework.jms.support.converter.MappingJackson2MessageConverter;
import org.springframework.jms.support.converter.MessageType;

/** A Spring program: asks for receipts, gives them, or sends a text. {@code Exchange ask|answer|text ADDRESS QUEUE}. */
public class Exchange {
    public record Order(int number, String article) {}

    public record Receipt(int number, String text) {}

    /** Spring's adapter calls this method, and sends what it returns to JMSReplyTo. */
    public static class Shop {
        private final CountDownLatch answered = new CountDownLatch(1);

        public Receipt handleMessage(Order order) {
            answered.countDown();
            return new Receipt(order.number(), "thank you for " + order.article());
        }
    }

    private static MappingJackson2MessageConverter converter() {
        MappingJackson2MessageConverter made = new MappingJackson2MessageConverter();
        made.setTypeIdPropertyName("_type");
        made.setTypeIdMappings(Map.of("Order", Order.class, "Receipt", Receipt.class));
        return made;
    }

    public static void main(String[] given) throws Exception {
        JmsConnectionFactory factory = new JmsConnectionFactory(given[1]);
        if (given[0].equals("ask")) {
            ask(factory, given[2], converter());
        } else if (given[0].equals("text")) {
            text(factory, given[2], converter());
        } else {
            answer(factory, given[2], converter());
        }
    }

    private static void text(JmsConnectionFactory factory, String queue, MappingJackson2MessageConverter converter) {
        JmsTemplate template = new JmsTemplate(factory);
        template.setMessageConverter(converter);
        template.convertAndSend(queue, "a \"pen\"");
        converter.setTargetType(MessageType.TEXT);
        template.convertAndSend(queue, "a \"pen\"");
        System.out.println(true);
    }

    private static void ask(JmsConnectionFactory factory, String queue, MappingJackson2MessageConverter converter)
            throws Exception {
        JmsTemplate template = new JmsTemplate(factory);
        template.setMessageConverter(converter);
        template.setReceiveTimeout(30_000);
        template.convertAndSend(queue, new Order(7, "a pen"), message -> {
            message.setJMSReplyTo(new JmsQueue(queue + ".replies"));
            message.setJMSCorrelationID("c-7");
            return message;
        });
        Receipt receipt = (Receipt) template.receiveSelectedAndConvert(queue + ".replies", "JMSCorrelationID = 'c-7'");
        System.out.println(new ObjectMapper().writeValueAsString(receipt));
    }

    private static void answer(JmsConnectionFactory factory, String queue, MappingJackson2MessageConverter converter)
            throws Exception {
        Shop shop = new Shop();
        MessageListenerAdapter adapter = new MessageListenerAdapter(shop);
        adapter.setMessageConverter(converter);
        DefaultMessageListenerContainer container = new DefaultMessageListenerContainer();
        container.setConnectionFactory(factory);
        container.setDestinationName(queue);
        container.setMessageListener(adapter);
        container.setSessionTransacted(true);
        container.afterPropertiesSet();
        container.start();
        boolean done = shop.answered.await(30, TimeUnit.SECONDS);
        container.shutdown();
        System.out.println(done);
    }
}
