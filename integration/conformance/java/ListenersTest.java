import static org.junit.Assert.*;

import jakarta.jms.*;
import jakarta.jms.IllegalStateException;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.Test;

/** Listeners are called on threads of their own, which are gone when the connection is closed. */
public class ListenersTest extends Support {
    final BlockingQueue<Object> seen = new LinkedBlockingQueue<>();

    Object next() throws InterruptedException {
        return seen.poll(SOON, TimeUnit.MILLISECONDS);
    }

    @Test
    public void messageListener() throws Exception {
        MessageConsumer consumer = session.createConsumer(queue);
        MessageListener listener = message -> {
            seen.add(message);
            seen.add(Thread.currentThread());
        };
        consumer.setMessageListener(listener);
        assertSame(listener, consumer.getMessageListener());
        try (JMSContext context = factory.createContext()) {
            context.createProducer().send(queue, "x");
        }
        assertEquals("x", ((TextMessage) next()).getText());
        assertNotSame(Thread.currentThread(), next());
        consumer.setMessageListener(null);
        assertNull(consumer.getMessageListener());
    }

    @Test
    public void listenerThatThrowsGetsTheMessageAgain() throws Exception {
        session.createConsumer(queue).setMessageListener(message -> {
            try {
                seen.add(message.getIntProperty("JMSXDeliveryCount"));
                if (!message.getJMSRedelivered()) throw new RuntimeException("meant to fail once");
            } catch (JMSException error) {
                seen.add(error);
            }
        });
        try (JMSContext context = factory.createContext()) {
            context.createProducer().send(queue, "x");
        }
        assertEquals(1, next());
        assertEquals(2, next());
    }

    @Test
    public void completionListenerGetsTheMessageItself() throws Exception {
        CompletionListener listener = new CompletionListener() {
            public void onCompletion(Message message) {
                seen.add(message);
            }

            public void onException(Message message, Exception error) {
                seen.add(error);
            }
        };
        Message message = session.createTextMessage("x");
        session.createProducer(queue).send(message, listener);
        assertSame(message, next());
        session.createProducer(null).send(queue, message, 1, 2, 3000, listener);
        assertSame(message, next());
        assertEquals(2, message.getJMSPriority());
        try (JMSContext context = factory.createContext()) {
            JMSProducer producer = context.createProducer().setAsync(listener);
            assertSame(listener, producer.getAsync());
            producer.send(queue, message);
            assertSame(message, next());
        }
    }

    @Test
    public void callbacksMayNotCloseWhatCallsThem() throws Exception {
        session.createConsumer(queue).setMessageListener(message -> {
            seen.add(thrown(IllegalStateException.class, session::close));
            seen.add(thrown(IllegalStateException.class, connection::close));
        });
        try (JMSContext context = factory.createContext()) {
            context.createProducer().send(queue, "x");
        }
        assertTrue(next() instanceof IllegalStateException);
        assertTrue(next() instanceof IllegalStateException);
    }

    @Test
    public void exceptionListenerIsKept() throws Exception {
        ExceptionListener listener = seen::add;
        connection.setExceptionListener(listener);
        assertSame(listener, connection.getExceptionListener());
        connection.setExceptionListener(null);
        assertNull(connection.getExceptionListener());
    }

    @Test
    public void noThreadIsLeftBehind() throws Exception {
        int before = Thread.getAllStackTraces().size();
        for (int i = 0; i < 10; i++) {
            try (Connection own = factory.createConnection()) {
                Session mine = own.createSession();
                mine.createConsumer(queue).setMessageListener(seen::add);
                own.start();
                mine.createProducer(queue).send(mine.createMessage(), new CompletionListener() {
                    public void onCompletion(Message message) {
                        seen.add(message);
                    }

                    public void onException(Message message, Exception error) {
                        seen.add(error);
                    }
                });
                assertTrue(next() instanceof Message);
                assertTrue(next() instanceof Message);
            }
        }
        // Python's garbage collector, which runs on any thread, may let go of a Java object there and so leave a few.
        assertTrue(Thread.getAllStackTraces().keySet().toString(), Thread.getAllStackTraces().size() <= before + 5);
    }

    /** Another provider's message: a name that ends in get… or set… reads or writes a map, others are answered by it. */
    @SuppressWarnings("unchecked")
    static <M extends Message> M foreign(Class<M> kind, Map<String, Object> content) {
        return (M) Proxy.newProxyInstance(kind.getClassLoader(), new Class<?>[] {kind}, (proxy, method, arguments) -> {
            String name = method.getName();
            if (content.get(name) instanceof Throwable) throw (Throwable) content.get(name);
            if (name.equals("hashCode")) return System.identityHashCode(proxy);
            if (name.equals("equals")) return proxy == arguments[0];
            if (name.startsWith("set")) content.put("get" + name.substring(3), arguments[0]);
            if (name.endsWith("Names")) return Collections.enumeration((List<String>) content.getOrDefault(name, new ArrayList<>()));
            if (arguments != null && name.startsWith("get")) return content.get((String) arguments[0]);
            return content.get(name);
        });
    }

    @Test
    public void foreignMessagesAreSent() throws Exception {
        Map<String, Object> content = new HashMap<>();
        content.put("getText", "theirs");
        content.put("getJMSType", "kind");
        content.put("getPropertyNames", List.of("p"));
        content.put("p", 5L);
        TextMessage theirs = foreign(TextMessage.class, content);
        session.createProducer(queue).send(theirs);
        TextMessage ours = (TextMessage) session.createConsumer(queue).receive(SOON);
        assertEquals("theirs", ours.getText());
        assertEquals("kind", ours.getJMSType());
        assertEquals(5L, ours.getObjectProperty("p"));
        assertEquals(ours.getJMSMessageID(), content.get("getJMSMessageID"));
        assertEquals(ours.getJMSTimestamp(), content.get("getJMSTimestamp"));
        assertEquals(queue, content.get("getJMSDestination"));
        assertEquals(DeliveryMode.PERSISTENT, content.get("getJMSDeliveryMode"));
        assertEquals(4, content.get("getJMSPriority"));
        assertEquals(0L, content.get("getJMSExpiration"));
    }

    @Test
    public void foreignMessagesComeBackInCallbacks() throws Exception {
        MapMessage theirs = foreign(MapMessage.class, new HashMap<>(Map.of("getMapNames", List.of("a"), "a", 'x')));
        session.createProducer(queue).send(theirs, new CompletionListener() {
            public void onCompletion(Message message) {
                seen.add(message);
            }

            public void onException(Message message, Exception error) {
                seen.add(error);
            }
        });
        assertSame(theirs, next());
        assertEquals('x', ((MapMessage) session.createConsumer(queue).receive(SOON)).getObject("a"));
    }

    @Test
    public void foreignErrorsReachTheSender() throws Exception {
        MessageFormatException mine = new MessageFormatException("theirs", "CODE");
        TextMessage theirs = foreign(TextMessage.class, new HashMap<>(Map.of("getText", mine)));
        MessageProducer producer = session.createProducer(queue);
        assertSame(mine, thrown(MessageFormatException.class, () -> producer.send(theirs)));
    }
}
