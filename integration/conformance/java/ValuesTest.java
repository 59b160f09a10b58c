import static org.junit.Assert.*;

import jakarta.jms.*;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.Collections;
import java.util.Enumeration;
import java.util.HashMap;
import java.util.LinkedList;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import org.junit.Test;

/** Values cross the border with their exact types, both ways. */
public class ValuesTest extends Support {
    static final Object[] PROPERTIES = {
        true, Byte.MIN_VALUE, Short.MAX_VALUE, Integer.MIN_VALUE, Long.MAX_VALUE, 0.1f, Float.MIN_VALUE, 0.1d,
        Double.MAX_VALUE, Double.NaN, Float.POSITIVE_INFINITY, "na\u00efve \ud83d\ude00", "lone \ud83d", "\0", "", 1, 1L, 1.0,
    };

    @Test
    public void propertiesKeepTheirBoxes() throws Exception {
        Message message = session.createMessage();
        for (int i = 0; i < PROPERTIES.length; i++) message.setObjectProperty("p" + i, PROPERTIES[i]);
        Message back = sent(message);
        for (int i = 0; i < PROPERTIES.length; i++) {
            assertEquals(PROPERTIES[i], message.getObjectProperty("p" + i));
            assertEquals(PROPERTIES[i], back.getObjectProperty("p" + i));
        }
    }

    @Test
    public void typedSettersAndGetters() throws Exception {
        Message m = session.createMessage();
        m.setBooleanProperty("z", true);
        m.setByteProperty("b", (byte) -1);
        m.setShortProperty("s", (short) -2);
        m.setIntProperty("i", -3);
        m.setLongProperty("l", -4);
        m.setFloatProperty("f", -0.0f);
        m.setDoubleProperty("d", 1e300);
        m.setStringProperty("t", null);
        m = sent(m);
        assertTrue(m.getBooleanProperty("z"));
        assertEquals((byte) -1, m.getByteProperty("b"));
        assertEquals((short) -2, m.getShortProperty("s"));
        assertEquals(-3, m.getIntProperty("i"));
        assertEquals(-4L, m.getLongProperty("l"));
        assertEquals(Float.floatToIntBits(-0.0f), Float.floatToIntBits(m.getFloatProperty("f")));
        assertEquals(1e300, m.getDoubleProperty("d"), 0);
        assertNull(m.getStringProperty("t"));
        assertNull(m.getObjectProperty("absent"));
        List<?> names = Collections.list((Enumeration<?>) m.getPropertyNames());
        assertTrue(names.containsAll(Arrays.asList("z", "b", "s", "i", "l", "f", "d", "t", "JMSXDeliveryCount")));
    }

    @Test
    public void whatNoPropertyCanBe() throws Exception {
        Message message = session.createMessage();
        for (Object each : new Object[] {'c', new byte[1], new ArrayList<>(), new HashMap<>(), new Object(), Thread.State.NEW}) {
            thrown(MessageFormatException.class, () -> message.setObjectProperty("p", each));
        }
    }

    @Test
    public void mapFieldsKeepTheirBoxes() throws Exception {
        MapMessage map = session.createMapMessage();
        map.setChar("c", '\u20ac');
        map.setObject("lone", '\ud800');
        map.setBytes("bytes", new byte[] {1, -2, 3});
        map.setBytes("part", new byte[] {1, -2, 3}, 1, 1);
        for (int i = 0; i < PROPERTIES.length; i++) map.setObject("p" + i, PROPERTIES[i]);
        map = sent(map);
        assertEquals('\u20ac', map.getChar("c"));
        assertEquals(Character.valueOf('\ud800'), map.getObject("lone"));
        assertArrayEquals(new byte[] {1, -2, 3}, map.getBytes("bytes"));
        assertArrayEquals(new byte[] {-2}, (byte[]) map.getObject("part"));
        for (int i = 0; i < PROPERTIES.length; i++) assertEquals(PROPERTIES[i], map.getObject("p" + i));
        assertEquals(PROPERTIES.length + 4, map.getBody(Map.class).size());
        assertEquals(PROPERTIES.length + 4, Collections.list((Enumeration<?>) map.getMapNames()).size());
    }

    @Test
    public void streamsAreReadIntoArrays() throws Exception {
        StreamMessage stream = session.createStreamMessage();
        stream.writeBytes(new byte[] {1, 2, 3, 4, 5});
        stream.writeBytes(null);
        stream.writeChar('x');
        stream.writeObject(5L);
        StreamMessage back = sent(stream);
        byte[] buffer = {9, 9, 9};
        assertEquals(3, back.readBytes(buffer));
        assertArrayEquals(new byte[] {1, 2, 3}, buffer);
        thrown(MessageFormatException.class, back::readObject);
        assertEquals(2, back.readBytes(buffer));
        assertArrayEquals(new byte[] {4, 5, 3}, buffer);
        assertEquals(-1, back.readBytes(buffer));
        assertEquals('x', back.readChar());
        assertEquals(5L, back.readObject());
        thrown(MessageEOFException.class, back::readObject);
    }

    @Test
    public void bytesAreReadIntoArrays() throws Exception {
        BytesMessage bytes = session.createBytesMessage();
        bytes.writeByte((byte) -1);
        bytes.writeShort((short) -2);
        bytes.writeChar('\ud800');
        bytes.writeInt(-3);
        bytes.writeLong(-4);
        bytes.writeFloat(0.1f);
        bytes.writeDouble(0.1);
        bytes.writeUTF("\0\ud83d\ude00");
        bytes.writeBytes(new byte[] {1, 2, 3}, 1, 2);
        bytes.writeObject('c');
        thrown(MessageFormatException.class, () -> bytes.writeObject(new Object()));
        BytesMessage back = sent(bytes);
        assertEquals(255, back.readUnsignedByte());
        assertEquals(65534, back.readUnsignedShort());
        assertEquals('\ud800', back.readChar());
        assertEquals(-3, back.readInt());
        assertEquals(-4L, back.readLong());
        assertEquals(0.1f, back.readFloat(), 0);
        assertEquals(0.1, back.readDouble(), 0);
        assertEquals("\0\ud83d\ude00", back.readUTF());
        byte[] buffer = {7, 7, 7};
        assertEquals(1, back.readBytes(buffer, 1));
        assertArrayEquals(new byte[] {2, 7, 7}, buffer);
        thrown(IndexOutOfBoundsException.class, () -> back.readBytes(buffer, 4));
        assertEquals(3, back.readBytes(buffer));
        assertArrayEquals(new byte[] {3, 0, 'c'}, buffer);
        assertEquals(-1, back.readBytes(buffer));
        assertEquals(43, back.getBodyLength());
        assertEquals(43, back.getBody(byte[].class).length);
    }

    @Test
    public void objectsKeepTheirClasses() throws Exception {
        BitSet bits = new BitSet();
        bits.set(5);
        LinkedList<Object> list = new LinkedList<>(Arrays.asList(1, "two", bits));
        ObjectMessage message = session.createObjectMessage(list);
        list.clear();
        ObjectMessage back = sent(message);
        assertEquals(LinkedList.class, back.getObject().getClass());
        assertEquals(Arrays.asList(1, "two", bits), back.getObject());
        assertNotSame(back.getObject(), back.getObject());
        assertTrue(back.isBodyAssignableTo(LinkedList.class));
        assertFalse(back.isBodyAssignableTo(ArrayList.class));
        assertEquals(3, back.getBody(List.class).size());
        thrown(MessageFormatException.class, () -> back.getBody(Map.class));
        thrown(MessageNotWriteableException.class, () -> back.setObject("x"));
        assertNull(session.createObjectMessage().getObject());
        thrown(MessageFormatException.class, () -> session.createObjectMessage((java.io.Serializable) (Object) unserializable()));
    }

    private static Object unserializable() {
        return new ArrayList<>(Arrays.asList(new Object()));
    }

    @Test
    public void bodiesByClass() throws Exception {
        TextMessage text = session.createTextMessage("t");
        assertEquals("t", text.getBody(CharSequence.class));
        assertEquals("t", text.getBody(Object.class));
        assertEquals("t", text.getBody(java.io.Serializable.class));
        thrown(MessageFormatException.class, () -> text.getBody(Integer.class));
        thrown(NullPointerException.class, () -> text.getBody(null));
        assertNull(session.createTextMessage().getBody(Integer.class));
        assertFalse(session.createStreamMessage().isBodyAssignableTo(Object.class));
        assertTrue(session.createMapMessage().isBodyAssignableTo(Map.class));
        assertFalse(session.createMapMessage().isBodyAssignableTo(HashMap.class));
    }

    @Test
    public void headers() throws Exception {
        TextMessage message = session.createTextMessage("\ud83d\ude00");
        message.setJMSCorrelationID("c");
        message.setJMSType(null);
        message.setJMSReplyTo(session.createTemporaryQueue());
        long before = System.currentTimeMillis();
        MessageProducer producer = session.createProducer(queue);
        producer.setTimeToLive(123_456);
        producer.setDeliveryDelay(1);
        assertEquals(123_456, producer.getTimeToLive());
        assertEquals(1, producer.getDeliveryDelay());
        producer.send(message, DeliveryMode.NON_PERSISTENT, 7, 1_234_567);
        TextMessage back = (TextMessage) session.createConsumer(queue).receive(SOON);
        assertEquals("\ud83d\ude00", back.getText());
        assertEquals(message.getJMSTimestamp() + 1_234_567, back.getJMSExpiration());
        assertEquals(message.getJMSTimestamp() + 1, back.getJMSDeliveryTime());
        assertTrue(before <= back.getJMSTimestamp());
        assertEquals(7, back.getJMSPriority());
        assertEquals(DeliveryMode.NON_PERSISTENT, back.getJMSDeliveryMode());
        assertEquals(message.getJMSMessageID(), back.getJMSMessageID());
        assertEquals("c", back.getJMSCorrelationID());
        assertArrayEquals(new byte[] {'c'}, back.getJMSCorrelationIDAsBytes());
        assertEquals(message.getJMSReplyTo(), back.getJMSReplyTo());
        assertTrue(back.getJMSReplyTo() instanceof TemporaryQueue);
        assertEquals(queue, back.getJMSDestination());
        assertEquals(queue.hashCode(), back.getJMSDestination().hashCode());
        assertEquals(queue.getQueueName(), queue.toString());
        assertNotEquals(queue, session.createTopic(queue.getQueueName()));
        assertNotEquals(queue, "a text");
    }

    @Test
    public void browsersEnumerate() throws Exception {
        MessageProducer producer = session.createProducer(queue);
        for (int i = 0; i < 3; i++) producer.send(session.createTextMessage("m" + i));
        QueueBrowser browser = session.createBrowser(queue, "");
        Enumeration<?> seen = browser.getEnumeration();
        for (int i = 0; i < 3; i++) {
            assertTrue(seen.hasMoreElements());
            assertTrue(seen.hasMoreElements());
            assertEquals("m" + i, ((TextMessage) seen.nextElement()).getText());
        }
        assertFalse(seen.hasMoreElements());
        thrown(NoSuchElementException.class, seen::nextElement);
        assertEquals(queue, browser.getQueue());
        assertNull(browser.getMessageSelector());
        Enumeration<?> open = browser.getEnumeration();
        open.nextElement();
        browser.close();
        thrown(IllegalStateRuntimeException.class, open::nextElement);
    }
}
