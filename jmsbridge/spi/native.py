"""The capabilities of a broker, one testable sentence each.

A backend class states the most that its family can do, a link what this broker can do, a subscription what holds for
it. The facade emulates or refuses what is missing, as the table in ``jmsbridge.config.features`` says.

Who claims TRANSACTIONS also claims SEND_TRANSACTIONS. With SEND_TRANSACTIONS alone, settlements on a transacted channel
take effect at once, as on any other. Without RETURN, a message that is RELEASED, REQUEUED or FAILED, and one that is
unsettled when its channel is closed, may return as late as its subscription is closed; without FAIL, not marked as
redelivered. Who claims FAIL also claims RETURN.
"""

from enum import Flag, auto

__all__ = ["Native"]


class Native(Flag):
    """One capability per member; the comment is the promise that the compliance suite tests."""

    NONE = 0
    SEND_CONFIRM = auto()  # a send's ticket is answered only after the broker took responsibility
    SETTLE_CONFIRM = auto()  # a settle's ticket is answered only once no lost link or crashed broker undoes it
    TYPED_PROPERTIES = auto()  # the eight property types arrive as they were set
    BODY_KINDS = auto()  # the six body kinds arrive as they were sent
    TRANSACTIONS = auto()  # sends and settlements of a transacted channel take effect together at commit, or never
    SEND_TRANSACTIONS = auto()  # sends of a transacted channel take effect together at commit, or never
    TOPIC_SELECTORS = auto()  # a topic subscription gets only messages that its selector matches
    QUEUE_SELECTORS = auto()  # a queue's consumer gets only messages that its selector matches, others get the rest
    BROWSE = auto()  # a BROWSE interest shows a queue's messages in order and takes none
    DURABLE = auto()  # a durable subscription keeps messages while it has no consumer
    SHARED = auto()  # several consumers, of several links, share one non-durable subscription
    SHARED_DURABLE = auto()  # the same, durable
    CLIENT_ID = auto()  # a client id is refused while another live link has it
    EXCLUSIVE_DURABLE = auto()  # an unshared durable subscription refuses a second consumer
    GROUPS = auto()  # messages of one JMSXGroupID go to the same consumer until it is closed
    TEMPORARY = auto()  # a temporary destination is consumed only by its link and is deleted with it
    DELAY = auto()  # nothing is delivered or browsed before its delivery time
    PRIORITY = auto()  # among waiting messages a higher priority is delivered first
    EXPIRY = auto()  # an expired message is not delivered
    DELIVERY_COUNT = auto()  # delivery_count is exact, across links too; a lost link counts at most one delivery
    DUPLICATE_DETECTION = auto()  # a second send with the same duplicate id is confirmed and dropped
    DRAIN = auto()  # drain is answered after everything available has arrived, also when the window was full
    CREDIT = auto()  # arrivals never exceed the credit that was granted
    RETURN = auto()  # RELEASED, REQUEUED and FAILED return a message while its consumer is open, for every consumer
    FAIL = auto()  # FAILED returns a message to its place at once, marked as redelivered for every consumer
    RELEASE = auto()  # RELEASED returns a message to its place without counting a delivery
    UNLIMITED_REQUEUE = auto()  # FAILED returns a message to the queue, however often, and never drops or moves it
    REJECT = auto()  # REJECTED moves a message to a dead-letter queue
    NO_LOCAL = auto()  # a no_local interest does not get the messages of its own link (client id)
