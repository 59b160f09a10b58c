package shop;

import static shop.Queues.ORDERS;

import org.springframework.beans.factory.annotation.Value;
import org.springframework.jms.annotation.JmsListener;
import org.springframework.jms.core.JmsTemplate;
import org.springframework.messaging.handler.annotation.SendTo;

public class Billing {
    private static final String AUDIT = "audit";

    private final JmsTemplate template;

    @Value("${shop.reminders}")
    private String reminders;

    public Billing(JmsTemplate template) {
        this.template = template;
    }

    @JmsListener(destination = ORDERS, concurrency = "${shop.consumers}")
    @SendTo(Billing.AUDIT)
    public String onOrder(String order) {
        template.convertAndSend(reminders, order);
        return order;
    }

    @JmsListener(destination = "${shop.invoices:invoices}", selector = "${shop.unknown}")
    public void onInvoice(String invoice) {
        template.convertAndSend(Queues.ORDERS, invoice);
    }
}
