import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.jms.annotation.JmsListener;

public class Listener {
    @JmsListener(destination = "orders", concurrency = "4")
    public void onOrder(Shop.Order order) {
        System.out.println("order " + order.number() + ": " + order.article());
    }

    public static void main(String[] arguments) {
        new AnnotationConfigApplicationContext(Shop.class, Listener.class);
    }
}
