import static org.junit.Assert.*;

import jakarta.jms.*;
import jakarta.jms.IllegalStateException;
import org.junit.Test;

/** Exceptions are of the exact class, and calls that differ only in type are told apart. */
public class ErrorsTest extends Support {
    @Test
    public void classOfEachError() throws Exception {
        Session own = connection.createSession(true, Session.SESSION_TRANSACTED);
        thrown(IllegalStateException.class, own::recover);
        thrown(IllegalStateException.class, session::commit);
        thrown(InvalidDestinationException.class, () -> session.createConsumer(null));
        thrown(InvalidSelectorException.class, () -> session.createConsumer(queue, "a ="));
        thrown(InvalidDestinationException.class, () -> session.unsubscribe("nothing"));
        thrown(IllegalStateException.class, () -> session.createDurableConsumer(topic, "s"));
        thrown(IllegalStateException.class, () -> connection.setClientID("late"));
        thrown(JMSException.class, () -> session.createProducer(queue).setPriority(10));
        thrown(JMSException.class, () -> connection.createSession(false, 17));
        thrown(JMSException.class, () -> session.setMessageListener(message -> {}));
        thrown(JMSRuntimeException.class, session::run);
        thrown(JMSException.class, () -> connection.createConnectionConsumer(queue, null, null, 1));
        Message message = session.createMessage();
        thrown(IllegalArgumentException.class, () -> message.setIntProperty("", 1));
        thrown(NumberFormatException.class, () -> message.getIntProperty("absent"));
        thrown(NullPointerException.class, () -> message.getDoubleProperty("absent"));
        BytesMessage bytes = session.createBytesMessage();
        thrown(MessageNotReadableException.class, bytes::readByte);
        thrown(NullPointerException.class, () -> bytes.writeObject(null));
        thrown(NullPointerException.class, () -> bytes.writeUTF(null));
        bytes.reset();
        thrown(MessageEOFException.class, bytes::readByte);
        thrown(MessageNotWriteableException.class, () -> bytes.writeByte((byte) 1));
        thrown(NullPointerException.class, () -> bytes.readBytes(null));
    }

    @Test
    public void uncheckedTwins() throws Exception {
        try (JMSContext context = factory.createContext()) {
            thrown(IllegalStateRuntimeException.class, context::commit);
            thrown(InvalidDestinationRuntimeException.class, () -> context.createConsumer(null));
            thrown(InvalidSelectorRuntimeException.class, () -> context.createConsumer(queue, "a ="));
            thrown(InvalidDestinationRuntimeException.class, () -> context.unsubscribe("nothing"));
            thrown(IllegalStateRuntimeException.class, () -> context.createDurableConsumer(topic, "s"));
            thrown(JMSRuntimeException.class, () -> context.createProducer().setPriority(10));
            thrown(MessageFormatRuntimeException.class, () -> context.createProducer().setProperty("p", (Object) 'c'));
            thrown(IllegalArgumentException.class, () -> context.createProducer().setProperty(null, 1));
            thrown(NumberFormatException.class, () -> context.createProducer().getByteProperty("p"));
            thrown(JMSRuntimeException.class, () -> context.createContext(17));
        }
        thrown(JMSRuntimeException.class, () -> factory.createContext(-1));
    }

    @Test
    public void reasonAndCause() throws Exception {
        InvalidSelectorException error = thrown(InvalidSelectorException.class, () -> session.createBrowser(queue, "a ="));
        assertTrue(error.getMessage(), error.getMessage().length() > 10);
        assertNotNull(error.getCause());
        assertNull(error.getLinkedException());
        connection.close();
        IllegalStateException closed = thrown(IllegalStateException.class, connection::start);
        assertTrue(closed.getMessage(), closed.getMessage().contains("closed"));
        JMSContext context = factory.createContext();
        context.close();
        IllegalStateRuntimeException twin = thrown(IllegalStateRuntimeException.class, context::start);
        assertEquals(IllegalStateException.class, twin.getCause().getClass());
    }

    @Test
    public void overloadsWithNullAreToldApart() throws Exception {
        MessageProducer producer = session.createProducer(queue);
        MessageProducer anonymous = session.createProducer(null);
        thrown(MessageFormatException.class, () -> producer.send((Message) null));
        thrown(IllegalArgumentException.class, () -> producer.send((Message) null, (CompletionListener) null));
        thrown(UnsupportedOperationException.class, () -> producer.send((Destination) null, (Message) null));
        thrown(InvalidDestinationException.class, () -> anonymous.send((Destination) null, (Message) null));
        thrown(UnsupportedOperationException.class, () -> anonymous.send((Message) null));
        assertNull(anonymous.getDestination());
        try (JMSContext context = factory.createContext()) {
            JMSProducer simple = context.createProducer();
            thrown(MessageFormatRuntimeException.class, () -> simple.send(queue, (Message) null));
            simple.send(queue, (String) null).send(queue, (byte[]) null);
            simple.send(queue, (java.util.Map<String, Object>) null).send(queue, (java.io.Serializable) null);
            JMSConsumer consumer = context.createConsumer(queue);
            Class<?>[] kinds = {TextMessage.class, BytesMessage.class, MapMessage.class, ObjectMessage.class};
            for (Class<?> kind : kinds) assertTrue(kind.isInstance(consumer.receive(SOON)));
            assertNull(consumer.receiveNoWait());
        }
    }

    @Test
    public void overloadsOfProperties() throws Exception {
        try (JMSContext context = factory.createContext()) {
            JMSProducer producer = context.createProducer();
            producer.setProperty("z", true).setProperty("b", (byte) 1).setProperty("s", (short) 1).setProperty("i", 1);
            producer.setProperty("l", 1L).setProperty("f", 1f).setProperty("d", 1d).setProperty("t", "1");
            producer.setProperty("o", (Object) 1L).setProperty("n", (String) null);
            Object[] expected = {true, (byte) 1, (short) 1, 1, 1L, 1f, 1d, "1", 1L, null};
            String[] names = {"z", "b", "s", "i", "l", "f", "d", "t", "o", "n"};
            for (int i = 0; i < names.length; i++) assertEquals(expected[i], producer.getObjectProperty(names[i]));
            java.util.Set<String> live = producer.getPropertyNames();
            assertEquals(10, live.size());
            producer.setProperty("more", 1);
            assertTrue(live.contains("more"));
            thrown(UnsupportedOperationException.class, () -> live.remove("more"));
            producer.clearProperties();
            assertTrue(live.isEmpty());
            assertSame(producer, producer.setAsync(null).setJMSType("t").setTimeToLive(5).setJMSReplyTo(queue));
            assertEquals(queue, producer.getJMSReplyTo());
        }
    }

    @Test
    public void queueAndTopicDomains() throws Exception {
        javax.naming.Context names = new javax.naming.InitialContext();
        QueueConnectionFactory queues = (QueueConnectionFactory) names.lookup("QueueConnectionFactory");
        TopicConnectionFactory topics = (TopicConnectionFactory) names.lookup("TopicConnectionFactory");
        try (QueueConnection q = queues.createQueueConnection(); TopicConnection t = topics.createTopicConnection()) {
            QueueSession queueSession = q.createQueueSession(false, Session.AUTO_ACKNOWLEDGE);
            TopicSession topicSession = t.createTopicSession(false, Session.AUTO_ACKNOWLEDGE);
            thrown(IllegalStateException.class, () -> queueSession.createTopic("t"));
            thrown(IllegalStateException.class, () -> q.createDurableConnectionConsumer(null, null, null, null, 0));
            thrown(IllegalStateException.class, () -> topicSession.createBrowser(null));
            TopicSubscriber subscriber = topicSession.createSubscriber(topic, "", true);
            assertEquals(topic, subscriber.getTopic());
            assertTrue(subscriber.getNoLocal());
            QueueSender sender = queueSession.createSender(null);
            thrown(InvalidDestinationException.class, () -> sender.send((Queue) null, queueSession.createMessage()));
            sender.send(queue, queueSession.createTextMessage("x"), 1, 2, 3000);
            q.start();
            assertEquals(2, queueSession.createReceiver(queue).receive(SOON).getJMSPriority());
            TopicPublisher publisher = topicSession.createPublisher(topic);
            assertEquals(topic, publisher.getTopic());
            publisher.publish(topicSession.createMessage(), 1, 2, 3000);
            thrown(UnsupportedOperationException.class, () -> publisher.publish(topic, topicSession.createMessage()));
        }
    }
}
