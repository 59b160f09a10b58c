"""Failed and lost connections as errors of the SPI; each names the broker and a remedy."""

from pika import exceptions as pika_errors

from jmsbridge.spi import AccessDenied, AuthenticationFailed, BackendError, ConnectFailed, Endpoint, LinkLost
from jmsbridge.transport.network.diagnosis import causes, link_lost, unreachable
from jmsbridge_rabbitmq.connection.parameters import PORT, TLS_PORT

__all__ = ["connect_error", "loss"]


def loss(error: BaseException | None, where: str) -> LinkLost:
    """The error for a lost connection."""
    code, text = getattr(error, "reply_code", None), getattr(error, "reply_text", "")
    said = None
    if code == 320:
        said = f"the broker closed it ({code} {text}): it is shutting down, or an operator closed the connection"
    elif code in (501, 502, 503, 504, 505):
        said = f"the broker reports a protocol error ({code} {text}); does a proxy alter the stream?"
    elif code == 541:
        said = f"the broker failed ({code} {text}); see its log"
    elif code is not None:
        said = f"the broker closed it ({code} {text})"
    elif isinstance(error, pika_errors.AMQPHeartbeatTimeout):
        said = "the broker was silent for longer than the heart-beat time-out (option heartbeat)"
    return link_lost(error, where, said)


def connect_error(error: BaseException, endpoint: Endpoint, login: str) -> BackendError:
    """The error for a failed connection attempt."""
    chain = causes(error)
    made: BackendError | None = None
    for each in chain:
        made = made or _from_login(each, endpoint, login) or _from_broker(each, endpoint)
    if made is None:
        reason = unreachable(chain, "RabbitMQ", TLS_PORT)
        made = ConnectFailed(f"{endpoint}: {reason}")
    made.__cause__ = error
    return made


def _from_login(error: BaseException, endpoint: Endpoint, login: str) -> BackendError | None:
    kinds = (pika_errors.AuthenticationError, pika_errors.ProbableAuthenticationError)
    if not isinstance(error, kinds) or _is_cut(error):
        return None
    who = f"user {endpoint.user or 'guest'!r}" if login == "plain" else "the client certificate"
    hint = "check user and password; the user guest may connect only from the broker's own host"
    if login != "plain" or "EXTERNAL" in str(error):
        hint = "login=external needs the plugin rabbitmq_auth_mechanism_ssl, and a user with the certificate's name"
    return AuthenticationFailed(f"{endpoint} refused {who}: {hint}")


def _is_cut(error: BaseException) -> bool:
    """Whether the connection broke without a reason from the broker; pika then guesses one."""
    return "StreamLostError" in str(error)


def _from_broker(error: BaseException, endpoint: Endpoint) -> BackendError | None:
    if isinstance(error, pika_errors.ConnectionClosedByBroker):
        code, text = error.reply_code, error.reply_text
        if code == 403:
            return AuthenticationFailed(f"{endpoint} refused user {endpoint.user or 'guest'!r} ({code} {text})")
        if code == 530:
            hint = "the path of the URL is the virtual host; check that it exists and that the user has access to it"
            return AccessDenied(f"{endpoint}: {hint} ({code} {text})")
        return ConnectFailed(f"{endpoint}: the broker closed the connection ({code} {text})")
    if isinstance(error, pika_errors.ProbableAccessDeniedError | pika_errors.ProbableAuthenticationError):
        if _is_cut(error):
            return ConnectFailed(f"{endpoint}: the connection broke during login; is the broker starting or stopping?")
        return AccessDenied(
            f"{endpoint}: the virtual host was refused; check that it exists and that the user has access to it"
        )
    if isinstance(error, pika_errors.IncompatibleProtocolError | pika_errors.ProtocolVersionMismatch):
        return ConnectFailed(
            f"{endpoint}: the server did not answer in AMQP 0-9-1; is it RabbitMQ? Its usual port is {PORT}, "
            f"with TLS {TLS_PORT}"
        )
    return None
