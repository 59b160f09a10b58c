import java.util.concurrent.CountDownLatch;
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
    public void ends() {
        Runtime.getRuntime().halt(3);
    }
}
