import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.jms.core.JmsMessagingTemplate;

public class Customer {
    public static void main(String[] arguments) {
        try (var context = new AnnotationConfigApplicationContext(Shop.class)) {
            JmsMessagingTemplate template = context.getBean(JmsMessagingTemplate.class);
            template.getJmsTemplate().setReceiveTimeout(30_000);
            Shop.Order order = new Shop.Order(3, "ink");
            Shop.Quote quote = template.convertSendAndReceive("quotes", order, Shop.Quote.class);
            System.out.println("quote " + quote.number() + ": " + quote.price());
        }
    }
}
