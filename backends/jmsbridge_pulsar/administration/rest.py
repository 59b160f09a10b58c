"""Requests to the REST interface of a cluster; each blocks, for at most 15 seconds."""

import base64
import http
import http.client
import json
import ssl
import urllib.error
import urllib.request
from collections.abc import Callable
from typing import Any, Final
from urllib.parse import quote

from jmsbridge.spi import AccessDenied, AddressInUse, AddressRefused, BackendError, Endpoint, NotSupported
from jmsbridge.transport.network.tls import client_context
from jmsbridge_pulsar.connection.options import PulsarOptions, login_of
from jmsbridge_pulsar.connection.protocol import on_one_line

__all__ = ["EARLIEST", "Rest", "check_persistent", "rest_of", "subscription_path", "topic_path"]

_PATIENCE: Final = 15.0  # seconds
_LARGEST: Final = 1 << 26  # bytes of an answer
_KINDS: Final = {401: AccessDenied, 403: AccessDenied, 404: AddressRefused, 409: AddressInUse, 412: AddressInUse}


EARLIEST: Final = {"ledgerId": -1, "entryId": -1, "partitionIndex": -1}
"""The position at which a subscription gets all messages that there are."""


class Rest:
    """``base`` is the URL of the interface, ``login`` returns the header for the login as it is now."""

    def __init__(self, base: str, login: Callable[[], str | None], context: ssl.SSLContext | None) -> None:
        self._base = base.rstrip("/")
        self._login = login
        handlers: list[urllib.request.BaseHandler] = [_Redirects()]
        if context is not None:
            handlers.append(urllib.request.HTTPSHandler(context=context))
        self._opener = urllib.request.build_opener(*handlers)

    def __repr__(self) -> str:
        return f"Rest({self._base!r})"

    def get(self, path: str) -> Any:
        """Read a resource."""
        return self._call("GET", path)

    def put(self, path: str, body: Any = None) -> Any:
        """Create or replace a resource."""
        return self._call("PUT", path, body)

    def post(self, path: str, body: Any = None) -> Any:
        """Do something with a resource."""
        return self._call("POST", path, body)

    def delete(self, path: str) -> None:
        """Remove a resource."""
        self._call("DELETE", path)

    def _call(self, method: str, path: str, body: Any = None) -> Any:
        """The JSON of the answer; AddressRefused for what does not exist, AddressInUse for what is in use."""
        data = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json"}
        login = self._login()
        if login is not None:
            headers["Authorization"] = login
        request = urllib.request.Request(f"{self._base}/admin/v2/{path}", data, headers, method=method)
        try:
            with self._opener.open(request, timeout=_PATIENCE) as answer:
                content = answer.read(_LARGEST)
        except urllib.error.HTTPError as error:
            with error:
                said = _reason(error.read())
            if error.code == http.HTTPStatus.NOT_FOUND and not said:  # Pulsar says what it has not found
                text = f"{self._base} has no {path} ({error.code}: {error.reason}); is option admin_url right?"
                raise BackendError(text) from error
            raise _KINDS.get(error.code, BackendError)(
                f"{self._base} refused {method} {path} ({error.code}: {said or error.reason})"
            ) from error
        except (OSError, http.client.HTTPException) as error:
            raise BackendError(
                f"{self._base} does not answer {method} {path} ({error}); is option admin_url right?",
                in_doubt=method != "GET",
            ) from error
        try:
            return json.loads(content) if content.strip() else None
        except ValueError as error:
            text = f"{self._base} answers {method} {path} with no JSON; is option admin_url right?"
            raise BackendError(text) from error


class _Redirects(urllib.request.HTTPRedirectHandler):
    """A broker that does not serve a topic sends each request on to the one that does, whatever the method."""

    def redirect_request(
        self, req: urllib.request.Request, fp: Any, code: int, msg: str, headers: Any, newurl: str
    ) -> urllib.request.Request | None:
        """Repeat the request there, with its login, unless it would leave TLS."""
        if code != http.HTTPStatus.TEMPORARY_REDIRECT or newurl.partition(":")[0] != req.type:
            raise urllib.error.HTTPError(req.full_url, code, f"sent on to {newurl}", headers, fp)
        return urllib.request.Request(newurl, req.data, dict(req.header_items()), method=req.get_method())


def rest_of(endpoint: Endpoint, options: PulsarOptions) -> Rest | None:
    """The REST interface of the options, with the login of the connection; None without ``admin_url``."""
    if options.admin_url is None:
        return None
    context = client_context(options, options.admin_url) if options.admin_url.startswith("https:") else None
    return Rest(options.admin_url, lambda: _header(login_of(endpoint, options)), context)


def _header(login: tuple[str, bytes] | None) -> str | None:
    method, data = login or ("", b"")
    if method == "token":
        return f"Bearer {data.decode()}"
    return f"Basic {base64.b64encode(data).decode()}" if method == "basic" else None


def _quoted(name: str) -> str:
    """A name as one segment of a path."""
    return quote(name, safe="")


def subscription_path(topic: str, name: str) -> str:
    """The path of a subscription, by the full name of its topic and its own, which the broker decodes twice."""
    return f"{topic_path(topic)}/subscription/{_quoted(_quoted(name))}"


def check_persistent(topic: str) -> None:
    """NotSupported for a topic of which the broker keeps no messages that could be counted or shown."""
    if not topic.startswith("persistent://"):
        raise NotSupported(f"{topic} keeps no messages: they are not counted, browsed or deleted")


def topic_path(topic: str) -> str:
    """The path of a topic by its full name."""
    kind, _, rest = topic.partition("://")
    tenant, namespace, name = rest.split("/", 2)
    return f"{kind}/{tenant}/{namespace}/{_quoted(name)}"


def _reason(body: bytes) -> str:
    try:
        said = str(json.loads(body).get("reason", ""))
    except (ValueError, AttributeError):
        return ""
    return on_one_line(" ".join(said.partition("Stacktrace:")[0].split()))
