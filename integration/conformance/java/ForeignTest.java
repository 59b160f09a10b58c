import static org.junit.Assert.*;

import com.sun.ts.tests.jms.common.BytesMessageTestImpl;
import com.sun.ts.tests.jms.common.InvalidTextMessageTestImpl;
import com.sun.ts.tests.jms.common.MapMessageTestImpl;
import com.sun.ts.tests.jms.common.MessageTestImpl;
import com.sun.ts.tests.jms.common.ObjectMessageTestImpl;
import com.sun.ts.tests.jms.common.StreamMessageTestImpl;
import com.sun.ts.tests.jms.common.TextMessageTestImpl;
import jakarta.jms.*;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.Test;

/** The messages of another implementation, those of the Jakarta Messaging TCK, are sent by every kind of producer. */
public class ForeignTest extends Support {
    /** Send it in three ways; what arrives is the same, and its headers are written back each time. */
    <M extends Message> M[] sentInEveryWay(M theirs, M[] received) throws Exception {
        theirs.setStringProperty("name", "value");
        theirs.setJMSCorrelationID("c");
        theirs.setJMSType("t");
        BlockingQueue<Object> completed = new LinkedBlockingQueue<>();
        MessageProducer producer = session.createProducer(queue);
        MessageConsumer consumer = session.createConsumer(queue);
        for (int way = 0; way < 3; way++) {
            theirs.setJMSPriority(1);
            theirs.setJMSDeliveryMode(DeliveryMode.NON_PERSISTENT);
            if (way == 0) producer.send(theirs, DeliveryMode.PERSISTENT, 7, 60_000);
            if (way == 1) {
                producer.send(theirs, DeliveryMode.PERSISTENT, 7, 60_000, new CompletionListener() {
                    public void onCompletion(Message message) {
                        completed.add(message);
                    }

                    public void onException(Message message, Exception error) {
                        completed.add(error);
                    }
                });
                assertSame(theirs, completed.poll(SOON, TimeUnit.MILLISECONDS));
            }
            if (way == 2) {
                try (JMSContext context = factory.createContext()) {
                    context.createProducer().setPriority(7).setTimeToLive(60_000).send(queue, theirs);
                }
            }
            @SuppressWarnings("unchecked")
            M ours = (M) consumer.receive(SOON);
            assertEquals(7, ours.getJMSPriority());
            assertEquals(7, theirs.getJMSPriority());
            assertEquals(DeliveryMode.PERSISTENT, theirs.getJMSDeliveryMode());
            assertEquals(ours.getJMSMessageID(), theirs.getJMSMessageID());
            assertEquals(ours.getJMSTimestamp(), theirs.getJMSTimestamp());
            assertEquals(ours.getJMSTimestamp() + 60_000, theirs.getJMSExpiration());
            assertEquals(queue, theirs.getJMSDestination());
            assertEquals("value", ours.getStringProperty("name"));
            assertEquals("c", ours.getJMSCorrelationID());
            assertEquals("t", ours.getJMSType());
            received[way] = ours;
        }
        return received;
    }

    @Test
    public void plain() throws Exception {
        for (Message each : sentInEveryWay(new MessageTestImpl(), new Message[3])) {
            assertFalse(each instanceof TextMessage);
        }
    }

    @Test
    public void text() throws Exception {
        TextMessage theirs = new TextMessageTestImpl();
        theirs.setText("theirs");
        for (TextMessage each : sentInEveryWay(theirs, new TextMessage[3])) assertEquals("theirs", each.getText());
    }

    @Test
    public void object() throws Exception {
        ObjectMessage theirs = new ObjectMessageTestImpl();
        theirs.setObject(new java.util.BitSet(5));
        for (ObjectMessage each : sentInEveryWay(theirs, new ObjectMessage[3])) {
            assertEquals(new java.util.BitSet(5), each.getObject());
        }
    }

    @Test
    public void map() throws Exception {
        MapMessage theirs = new MapMessageTestImpl();
        theirs.setLong("long", 5);
        theirs.setChar("char", 'c');
        theirs.setBytes("bytes", new byte[] {1, -2});
        theirs.setString("null", null);
        for (MapMessage each : sentInEveryWay(theirs, new MapMessage[3])) {
            assertEquals(5L, each.getObject("long"));
            assertEquals('c', each.getObject("char"));
            assertArrayEquals(new byte[] {1, -2}, each.getBytes("bytes"));
            assertTrue(each.itemExists("null"));
        }
    }

    @Test
    public void bytes() throws Exception {
        BytesMessage theirs = new BytesMessageTestImpl();
        theirs.writeInt(5);
        theirs.writeUTF("five");
        for (BytesMessage each : sentInEveryWay(theirs, new BytesMessage[3])) {
            assertEquals(5, each.readInt());
            assertEquals("five", each.readUTF());
            assertEquals(10, each.getBodyLength());
        }
    }

    @Test
    public void stream() throws Exception {
        StreamMessage theirs = new StreamMessageTestImpl();
        theirs.writeShort((short) 5);
        theirs.writeString("five");
        for (StreamMessage each : sentInEveryWay(theirs, new StreamMessage[3])) {
            assertEquals((short) 5, each.readObject());
            assertEquals("five", each.readObject());
            thrown(MessageEOFException.class, each::readObject);
        }
    }

    @Test
    public void invalid() throws Exception {
        MessageProducer producer = session.createProducer(queue);
        thrown(MessageFormatException.class, () -> producer.send(new InvalidTextMessageTestImpl()));
        try (JMSContext context = factory.createContext()) {
            JMSProducer simple = context.createProducer();
            thrown(MessageFormatRuntimeException.class, () -> simple.send(queue, new InvalidTextMessageTestImpl()));
        }
        assertNull(session.createConsumer(queue).receiveNoWait());
    }
}
