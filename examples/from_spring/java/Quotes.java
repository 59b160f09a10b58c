import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.jms.annotation.JmsListener;

public class Quotes {
    @JmsListener(destination = "quotes")
    public Shop.Quote quote(Shop.Order order) {
        return new Shop.Quote(order.number(), 1.5 * order.article().length());
    }

    public static void main(String[] arguments) {
        new AnnotationConfigApplicationContext(Shop.class, Quotes.class);
    }
}
