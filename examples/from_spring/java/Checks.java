import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.jms.annotation.JmsListener;
import org.springframework.messaging.handler.annotation.Header;
import org.springframework.messaging.handler.annotation.SendTo;

public class Checks {
    @JmsListener(destination = "unchecked", selector = "region = 'north'")
    @SendTo("orders")
    public Shop.Order check(Shop.Order order, @Header("region") String region) {
        if (order.article().isEmpty()) {
            throw new IllegalArgumentException("order " + order.number() + " of " + region + " has no article");
        }
        return order;
    }

    public static void main(String[] arguments) {
        new AnnotationConfigApplicationContext(Shop.class, Checks.class);
    }
}
