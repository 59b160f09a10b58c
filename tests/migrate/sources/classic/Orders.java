package shop;

import javax.jms.*;
import org.apache.activemq.ActiveMQConnectionFactory;

/** Plain JMS 1.1: session.commit() in a comment is no call. */
public class Orders extends Base {
    private static final String AUDIT = "audit";
    private QueueConnectionFactory factory;

    public void send(String text) throws JMSException {
        Connection connection = new ActiveMQConnectionFactory("tcp://broker:61616").createConnection();
        connection.setClientID("shop");
        Session session = connection.createSession(true, Session.SESSION_TRANSACTED);
        MessageProducer producer = session.createProducer(session.createQueue("orders"));
        TextMessage message = session.createTextMessage(text);
        message.setStringProperty("JMSXGroupID", "north");
        producer.send(message, DeliveryMode.PERSISTENT, 9, 60000);
        session.createProducer(null).send(session.createTopic(AUDIT), message);
        session.commit();
        connection.close();
    }

    public String receive(Session session, Queue queue) throws JMSException {
        MessageConsumer consumer = session.createConsumer(queue, "region = 'north'");
        consumer.setMessageListener(new MessageListener() {
            public void onMessage(Message each) {
                try {
                    log(((TextMessage) each).getText() + each.getIntProperty("JMSXDeliveryCount"));
                } catch (JMSException error) {
                    log(error.getErrorCode());
                }
            }
        });
        consumer.setMessageListener(each -> log(each.toString() + idOf(each)));
        Message message = consumer.receiveNoWait();
        if (message instanceof BytesMessage) {
            return "" + ((BytesMessage) message).getBodyLength();
        }
        return message == null ? null : message.getJMSMessageID();
    }

    private String idOf(Message message) {
        return connectionOf(message).opened.toString() + shared.createTemporaryQueue();
    }

    private void log(String commit) {
        new Transaction().commit();
    }
}

class Base {
    protected Session shared;
    Connection opened;

    Base connectionOf(Message message) {
        return this;
    }
}

class Transaction {
    void commit() {}
}
