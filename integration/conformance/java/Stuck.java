import jakarta.jms.ConnectionFactory;
import jakarta.jms.JMSContext;
import jakarta.jms.Queue;
import java.lang.reflect.Proxy;
import java.util.concurrent.CountDownLatch;
import javax.naming.InitialContext;
import org.junit.Test;

/** Tests that go wrong, for the tests of the runner. */
public class Stuck {
    @Test
    public void waitsForEver() throws Exception {
        new CountDownLatch(1).await();
    }

    @Test
    public void fails() {
        throw new AssertionError("meant to fail");
    }

    @Test
    public void upsetsTheFace() throws Exception {
        Object face = new InitialContext().lookup("queue/stuck");
        try {
            Proxy.getInvocationHandler(face).invoke(face, Object.class.getMethod("notify"), null);
        } catch (Throwable error) {
            // The run must fail all the same.
        }
    }

    @Test
    public void listensForEver() throws Exception {
        JMSContext context = ((ConnectionFactory) new InitialContext().lookup("ConnectionFactory")).createContext();
        Queue queue = context.createTemporaryQueue();
        CountDownLatch called = new CountDownLatch(1);
        context.createConsumer(queue).setMessageListener(message -> {
            called.countDown();
            try {
                waitsForEver();
            } catch (Exception error) {
                throw new RuntimeException(error);
            }
        });
        context.createProducer().send(queue, "x");
        called.await();
    }

    @Test
    public void ends() {
        Runtime.getRuntime().halt(3);
    }
}
