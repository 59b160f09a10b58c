import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.jms.core.JmsMessagingTemplate;

public class Sender {
    public static void main(String[] arguments) {
        try (var context = new AnnotationConfigApplicationContext(Shop.class)) {
            JmsMessagingTemplate template = context.getBean(JmsMessagingTemplate.class);
            template.convertAndSend("orders", new Shop.Order(1, "pen"));
            template.convertAndSend("orders", new Shop.Order(2, "paper"));
        }
    }
}
