import jakarta.jms.CompletionListener;
import jakarta.jms.JMSException;
import jakarta.jms.Message;
import jakarta.jms.MessageProducer;

/** What is measured of a client: each has one class Bench of this kind. */
interface Timed extends Client {
    /** Send, and have the listener told of the broker's answer. */
    default void send(MessageProducer producer, Message message, CompletionListener listener) throws JMSException {
        producer.send(message, listener);
    }
}
