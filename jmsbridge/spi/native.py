"""What a broker can do by itself, one testable sentence each.

A backend class states its family's maximum, a link what this broker agreed to, a subscription what holds for it.
What is missing is emulated or refused by the facade, as the table in ``jmsbridge.core.plan`` says.
"""

from enum import Flag, auto

__all__ = ["Native"]


class Native(Flag):
    """One capability per member; the comment beside it is the promise that the compliance suite tests."""

    NONE = 0
    SEND_CONFIRM = auto()  # a send's ticket is answered only after the broker took responsibility
    SETTLE_CONFIRM = auto()  # a settle's ticket is answered only once no lost link or crashed broker undoes it
    TYPED_PROPERTIES = auto()  # the eight property types arrive as they were set
    BODY_KINDS = auto()  # the six body kinds arrive as they were sent
    TRANSACTIONS = auto()  # sends and settlements of a transacted channel take effect together at commit, or never
    TOPIC_SELECTORS = auto()  # a topic subscription gets only what its selector matches
    QUEUE_SELECTORS = auto()  # a queue's consumer gets only what its selector matches, the rest stays for others
    BROWSE = auto()  # a BROWSE interest shows a queue's messages in order and takes none
    DURABLE = auto()  # a durable subscription keeps messages while nobody consumes it
    SHARED = auto()  # several consumers, of several links, share one non-durable subscription
    SHARED_DURABLE = auto()  # the same, durable
    CLIENT_ID = auto()  # a client id is refused while another live link has it
    EXCLUSIVE_DURABLE = auto()  # an unshared durable subscription refuses a second consumer
    GROUPS = auto()  # messages of one JMSXGroupID go to one consumer while it lives
    TEMPORARY = auto()  # a temporary destination is consumed only by its link and dies with it
    DELAY = auto()  # nothing is delivered or browsed before its delivery time
    PRIORITY = auto()  # among waiting messages a higher priority is delivered first
    EXPIRY = auto()  # an expired message is not delivered
    DELIVERY_COUNT = auto()  # an arrival's delivery_count is exact, over links too; a link's death counts at most once
    DUPLICATE_DETECTION = auto()  # a second send with the same duplicate id is confirmed and dropped
    DRAIN = auto()  # drain is answered after everything available has arrived, also when the window was full
    CREDIT = auto()  # arrivals never exceed what was granted
    RELEASE = auto()  # RELEASED puts a message back in its place without counting a delivery
    HAND_BACK = auto()  # FAILED puts a message back for whoever comes next, however often, and never drops or moves it
    REJECT = auto()  # REJECTED moves a message to a dead-letter queue
    NO_LOCAL = auto()  # a no_local interest does not see its own link's (client id's) messages
