package shop.beans;

import javax.ejb.ActivationConfigProperty;
import javax.ejb.MessageDriven;
import javax.jms.Message;
import javax.jms.MessageListener;

@MessageDriven(activationConfig = {
    @ActivationConfigProperty(propertyName = "destinationLookup", propertyValue = "java:/jms/mail"),
    @ActivationConfigProperty(propertyName = "destinationType", propertyValue = "javax.jms.Topic"),
    @ActivationConfigProperty(propertyName = "subscriptionDurability", propertyValue = "Durable"),
    @ActivationConfigProperty(propertyName = "subscriptionName", propertyValue = "mailer"),
    @ActivationConfigProperty(propertyName = "messageSelector", propertyValue = "kind = " + "'letter'")
})
public class Mailer implements MessageListener {
    @Override
    public void onMessage(Message message) {
        String type = getType(message);
    }

    private String getType(Message message) {
        return "";
    }
}
