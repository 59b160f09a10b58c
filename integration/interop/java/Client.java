import jakarta.jms.ConnectionFactory;
import jakarta.jms.Destination;
import jakarta.jms.JMSException;
import jakarta.jms.Queue;
import jakarta.jms.Session;
import jakarta.jms.TemporaryQueue;
import jakarta.jms.TemporaryTopic;
import jakarta.jms.Topic;
import java.util.List;

/** What differs between the brokers' own clients; each has one small class of this kind beside its pom.xml. */
interface Client {
    /** Connects to the address, which has no login in it, and the REST interface as its query where there is one. */
    ConnectionFactory factory(String address) throws Exception;

    /** The queue of that name. */
    default Queue queue(Session session, String name) throws JMSException {
        return session.createQueue(name);
    }

    /** Where an answer goes, and where the asker waits for it. */
    default Destination answers(Destination replyTo) throws JMSException {
        return replyTo;
    }

    /** Make a temporary destination exist at the broker, where the client does that only when it is used. */
    default void declare(Session session, Destination temporary) throws JMSException {
    }

    /** A destination as [queue or topic, whether it is temporary, its name]. */
    default List<Object> named(Destination destination) throws JMSException {
        return destination instanceof Queue queue
                ? List.of("queue", queue instanceof TemporaryQueue, queue.getQueueName())
                : List.of("topic", destination instanceof TemporaryTopic, ((Topic) destination).getTopicName());
    }
}
