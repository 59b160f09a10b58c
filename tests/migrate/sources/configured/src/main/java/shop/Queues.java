package shop;

public interface Queues {
    String PREFIX = "shop.";
    String ORDERS = PREFIX + "orders";
}
