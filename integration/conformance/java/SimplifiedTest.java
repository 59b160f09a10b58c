import static org.junit.Assert.*;

import jakarta.jms.*;
import java.util.Arrays;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.Test;

/** The simplified API of JMS 2.0, of which Joram's tests know nothing. */
public class SimplifiedTest extends Support {
    @Test
    public void bodiesOfEveryKind() throws Exception {
        try (JMSContext context = factory.createContext()) {
            JMSProducer producer = context.createProducer();
            producer.send(queue, "text").send(queue, new byte[] {1, -2}).send(queue, Map.of("a", 5L));
            producer.send(queue, (java.io.Serializable) Arrays.asList(1, 2));
            JMSConsumer consumer = context.createConsumer(queue);
            assertEquals("text", consumer.receiveBody(String.class, SOON));
            assertArrayEquals(new byte[] {1, -2}, consumer.receiveBody(byte[].class));
            assertEquals(5L, consumer.receiveBody(Map.class, SOON).get("a"));
            assertEquals(Arrays.asList(1, 2), consumer.receiveBody(java.util.List.class, SOON));
            assertNull(consumer.receiveBodyNoWait(String.class));
        }
    }

    @Test
    public void bodyOfAnotherTypeStaysFirst() throws Exception {
        try (JMSContext context = factory.createContext()) {
            context.createProducer().send(queue, "first").send(queue, "second");
            JMSConsumer consumer = context.createConsumer(queue);
            thrown(MessageFormatRuntimeException.class, () -> consumer.receiveBody(Map.class, SOON));
            Message message = consumer.receive(SOON);
            assertEquals("first", message.getBody(String.class));
            assertFalse(message.getJMSRedelivered());
            assertEquals(1, message.getIntProperty("JMSXDeliveryCount"));
        }
    }

    @Test
    public void asyncSendsCompleteInOrder() throws Exception {
        StringBuffer order = new StringBuffer();
        CountDownLatch all = new CountDownLatch(20);
        Set<Thread> threads = new HashSet<>();
        try (JMSContext context = factory.createContext()) {
            JMSProducer producer = context.createProducer().setAsync(new CompletionListener() {
                public void onCompletion(Message message) {
                    try {
                        order.append(((TextMessage) message).getText());
                    } catch (JMSException error) {
                        order.append(error);
                    }
                    threads.add(Thread.currentThread());
                    all.countDown();
                }

                public void onException(Message message, Exception error) {
                    order.append(error);
                    all.countDown();
                }
            });
            for (int i = 0; i < 20; i++) producer.send(queue, Integer.toString(i % 10));
            assertTrue(all.await(SOON, TimeUnit.MILLISECONDS));
        }
        assertEquals("01234567890123456789", order.toString());
        assertFalse(threads.contains(Thread.currentThread()));
    }

    @Test
    public void sharedConsumersShare() throws Exception {
        try (JMSContext one = factory.createContext(); JMSContext two = factory.createContext()) {
            JMSConsumer first = one.createSharedConsumer(topic, "shared");
            JMSConsumer second = two.createSharedConsumer(topic, "shared", "");
            JMSConsumer alone = one.createConsumer(topic);
            for (int i = 0; i < 10; i++) one.createProducer().send(topic, "m" + i);
            Set<String> got = new HashSet<>();
            for (int i = 0; i < 10; i++) assertEquals("m" + i, alone.receiveBody(String.class, SOON));
            eventually(() -> {
                for (JMSConsumer each : new JMSConsumer[] {first, second}) {
                    String body = each.receiveBodyNoWait(String.class);
                    if (body != null) assertTrue(body, got.add(body));
                }
                return got.size() == 10;
            });
            thrown(IllegalStateRuntimeException.class, () -> one.createSharedConsumer(topic, "shared", "a = 1"));
        }
    }

    @Test
    public void sharedDurableOutlivesItsConsumers() throws Exception {
        String name = "face-" + System.nanoTime();
        try (JMSContext context = factory.createContext()) {
            context.createSharedDurableConsumer(topic, name).close();
            context.createProducer().send(topic, "kept");
            JMSConsumer again = context.createSharedDurableConsumer(topic, name);
            assertEquals("kept", again.receiveBody(String.class, SOON));
            thrown(IllegalStateRuntimeException.class, () -> context.unsubscribe(name));
            again.close();
            context.unsubscribe(name);
        }
    }

    @Test
    public void durableNeedsAClientId() throws Exception {
        String client = "face-" + System.nanoTime();
        try (JMSContext context = factory.createContext()) {
            context.setClientID(client);
            assertEquals(client, context.getClientID());
            JMSConsumer consumer = context.createDurableConsumer(topic, "sub", "a = 1", false);
            assertEquals("a = 1", consumer.getMessageSelector());
            context.createProducer().send(topic, "no").setProperty("a", 1).send(topic, "yes");
            assertEquals("yes", consumer.receiveBody(String.class, SOON));
            consumer.close();
            context.unsubscribe("sub");
        }
    }

    @Test
    public void deliveryDelay() throws Exception {
        try (JMSContext context = factory.createContext()) {
            JMSConsumer consumer = context.createConsumer(queue);
            context.createProducer().setDeliveryDelay(1500).send(queue, "late").setDeliveryDelay(0).send(queue, "early");
            assertEquals("early", consumer.receiveBody(String.class, SOON));
            Message late = consumer.receive(SOON);
            assertEquals("late", late.getBody(String.class));
            assertTrue(System.currentTimeMillis() >= late.getJMSDeliveryTime());
            assertEquals(late.getJMSTimestamp() + 1500, late.getJMSDeliveryTime());
        }
    }

    @Test
    public void autoStart() throws Exception {
        try (JMSContext context = factory.createContext()) {
            assertTrue(context.getAutoStart());
            context.setAutoStart(false);
            JMSConsumer consumer = context.createConsumer(queue);
            context.createProducer().send(queue, "x");
            assertNull(consumer.receive(200));
            context.start();
            assertEquals("x", consumer.receiveBody(String.class, SOON));
        }
    }

    @Test
    public void contextsShareAConnection() throws Exception {
        JMSContext first = factory.createContext(JMSContext.SESSION_TRANSACTED);
        JMSContext second = first.createContext(JMSContext.CLIENT_ACKNOWLEDGE);
        assertTrue(first.getTransacted());
        assertEquals(JMSContext.CLIENT_ACKNOWLEDGE, second.getSessionMode());
        TemporaryQueue temporary = first.createTemporaryQueue();
        JMSConsumer consumer = second.createConsumer(temporary);
        first.createProducer().send(temporary, "x");
        assertNull(consumer.receiveNoWait());
        first.commit();
        assertEquals("x", consumer.receiveBody(String.class, SOON));
        second.acknowledge();
        first.close();
        assertNull(consumer.receiveNoWait());
        second.close();
        thrown(IllegalStateRuntimeException.class, second::getClientID);
    }

    @Test
    public void metaData() throws Exception {
        ConnectionMetaData data = connection.getMetaData();
        assertEquals("3.1", data.getJMSVersion());
        assertEquals(3, data.getJMSMajorVersion());
        assertEquals(1, data.getJMSMinorVersion());
        assertEquals("jmsbridge", data.getJMSProviderName());
        assertTrue(data.getProviderVersion().startsWith(data.getProviderMajorVersion() + "." + data.getProviderMinorVersion()));
        assertTrue(data.getJMSXPropertyNames().hasMoreElements());
    }

    @Test
    public void requestorsOfTheApi() throws Exception {
        javax.naming.Context names = new javax.naming.InitialContext();
        QueueConnectionFactory queues = (QueueConnectionFactory) names.lookup("QueueConnectionFactory");
        session.createConsumer(queue).setMessageListener(message -> {
            try {
                session.createProducer(message.getJMSReplyTo()).send(session.createTextMessage("answer"));
            } catch (JMSException error) {
                throw new RuntimeException(error);
            }
        });
        try (QueueConnection own = queues.createQueueConnection()) {
            own.start();
            QueueRequestor requestor = new QueueRequestor(own.createQueueSession(false, Session.AUTO_ACKNOWLEDGE), queue);
            assertEquals("answer", ((TextMessage) requestor.request(session.createMessage())).getText());
            requestor.close();
        }
    }

    @Test
    public void topicRequestorOfTheApi() throws Exception {
        javax.naming.Context names = new javax.naming.InitialContext();
        TopicConnectionFactory topics = (TopicConnectionFactory) names.lookup("TopicConnectionFactory");
        session.createConsumer(topic).setMessageListener(message -> {
            try {
                session.createProducer(message.getJMSReplyTo()).send(session.createTextMessage("answer"));
            } catch (JMSException error) {
                throw new RuntimeException(error);
            }
        });
        try (TopicConnection own = topics.createTopicConnection()) {
            own.start();
            TopicRequestor requestor = new TopicRequestor(own.createTopicSession(false, Session.AUTO_ACKNOWLEDGE), topic);
            assertEquals("answer", ((TextMessage) requestor.request(session.createMessage())).getText());
            requestor.close();
        }
    }
}
