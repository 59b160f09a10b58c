package shop;

import com.rabbitmq.client.Connection;
import com.rabbitmq.client.ConnectionFactory;
import org.hibernate.Session;

public class Other {
    void others(Session session, ConnectionFactory factory) {
        session.createQuery("orders");
        session.close();
        Connection connection = factory.createConnection();
        connection.close();
    }
}
