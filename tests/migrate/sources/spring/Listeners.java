package shop.spring;

import jakarta.jms.JMSException;
import jakarta.jms.Session;
import jakarta.jms.TextMessage;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.jms.annotation.JmsListener;
import org.springframework.jms.core.JmsTemplate;
import org.springframework.messaging.handler.annotation.Header;
import org.springframework.messaging.handler.annotation.SendTo;

public class Listeners {
    public record Order(int number, String article) {}

    @Autowired
    private JmsTemplate template;

    @JmsListener(destination = "orders", concurrency = "3-10", selector = "region = 'north'")
    public void onOrder(Order order, @Header("region") String region) {
        template.convertAndSend("invoices", order, message -> {
            message.setJMSType("invoice");
            return message;
        });
    }

    @JmsListener(destination = "news", subscription = "audit")
    public void onNews(TextMessage message, Session session) throws JMSException {
        System.out.println(message.getText());
    }

    @JmsListener(destination = "unchecked")
    @SendTo("checked")
    public Order check(Order order) {
        return order;
    }

    void ask() {
        template.send("questions", session -> session.createTextMessage("?"));
        template.setReceiveTimeout(1000);
        template.receive("answers");
    }
}
