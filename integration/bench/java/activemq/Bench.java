import jakarta.jms.CompletionListener;
import jakarta.jms.JMSException;
import jakarta.jms.Message;
import jakarta.jms.MessageProducer;
import org.apache.activemq.ActiveMQMessageProducer;
import org.apache.activemq.AsyncCallback;

/** ActiveMQ's OpenWire client: it has no completion listeners, but callbacks of its own for the same. */
public final class Bench extends Factory implements Timed {
    @Override
    public void send(MessageProducer producer, Message message, CompletionListener listener) throws JMSException {
        ((ActiveMQMessageProducer) producer).send(message, new AsyncCallback() {
            @Override
            public void onSuccess() {
                listener.onCompletion(message);
            }

            @Override
            public void onException(JMSException error) {
                listener.onException(message, error);
            }
        });
    }
}
