"""Requests to the REST interface: logins, redirects to the broker that serves a topic, and errors (issue 17)."""

import http.server
import json
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from jmsbridge.spi import AccessDenied, AddressInUse, AddressRefused, BackendError, Endpoint, NotSupported
from jmsbridge_pulsar.administration.rest import Rest, check_persistent, rest_of
from jmsbridge_pulsar.connection.options import PulsarOptions

Answer = tuple[int, dict[str, str], bytes]


class _Served(http.server.ThreadingHTTPServer):
    def __init__(self, answer: Callable[[str], Answer]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answer = answer
        self.requests: list[tuple[str, str, str | None, bytes]] = []
        self.url = f"http://127.0.0.1:{self.server_port}"


class _Handler(http.server.BaseHTTPRequestHandler):
    server: _Served

    def _serve(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.server.requests.append((self.command, self.path, self.headers.get("Authorization"), body))
        code, headers, content = self.server.answer(self.path)
        self.send_response(code)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_PUT = do_POST = do_DELETE = _serve  # noqa: N815 - names of the library

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing is printed."""


@pytest.fixture
def serve() -> Iterator[Callable[[Callable[[str], Answer]], _Served]]:
    made: list[_Served] = []

    def start(answer: Callable[[str], Answer]) -> _Served:
        made.append(_Served(answer))
        threading.Thread(target=made[-1].serve_forever, args=(0.01,), daemon=True).start()
        return made[-1]

    yield start
    for each in made:
        each.shutdown()
        each.server_close()


def _rest(server: _Served, user: str | None = None, **options: Any) -> Rest:
    endpoint = Endpoint(scheme="pulsar", host="broker", user=user, password="pass")
    made = rest_of(endpoint, PulsarOptions(admin_url=f"{server.url}/", **options))
    assert made is not None
    return made


def _fine(path: str) -> Answer:
    return 200, {}, json.dumps(path).encode()


def test_requests(serve: Callable[..., _Served]) -> None:
    server = serve(_fine)
    rest = _rest(server)
    assert rest.get("persistent/a/b") == "/admin/v2/persistent/a/b"
    rest.put("x", {"one": 1})
    rest.post("y")
    rest.delete("z")
    assert [(method, body) for method, _, _, body in server.requests] == [
        ("GET", b""),
        ("PUT", b'{"one": 1}'),
        ("POST", b""),
        ("DELETE", b""),
    ]


def test_logins(serve: Callable[..., _Served], tmp_path: Path) -> None:
    server = serve(_fine)
    file = tmp_path / "token"
    file.write_text("one")
    rest = _rest(server, token_file=str(file))
    rest.get("x")
    file.write_text("two")
    rest.get("x")
    _rest(server, user="user").get("x")
    _rest(server).get("x")
    assert [login for _, _, login, _ in server.requests] == ["Bearer one", "Bearer two", "Basic dXNlcjpwYXNz", None]


@pytest.mark.parametrize("method", ["get", "put", "post", "delete"])
def test_the_broker_that_serves_the_topic_gets_the_request(serve: Callable[..., _Served], method: str) -> None:
    there = serve(_fine)
    here = serve(lambda path: (307, {"Location": there.url + path}, b""))
    getattr(_rest(here, token="the-token"), method)("persistent/a/b/c", *([{"one": 1}] if method == "put" else []))
    assert there.requests == here.requests
    assert there.requests[0][2] == "Bearer the-token"


def test_a_redirect_that_leaves_the_protocol_or_never_ends(serve: Callable[..., _Served]) -> None:
    for location in ("https://127.0.0.1:1/x", "ftp://127.0.0.1/x", "file:///etc/passwd"):
        with pytest.raises(BackendError):
            _rest(serve(lambda path, location=location: (307, {"Location": location}, b""))).get("x")
    endless: list[_Served] = []
    endless.append(serve(lambda path: (307, {"Location": endless[0].url + path}, b"")))
    with pytest.raises(BackendError):
        _rest(endless[0]).get("x")
    assert len(endless[0].requests) < 20


@pytest.mark.parametrize(
    ("code", "kind"),
    [(401, AccessDenied), (403, AccessDenied), (404, AddressRefused), (412, AddressInUse), (500, BackendError)],
)
def test_errors(serve: Callable[..., _Served], code: int, kind: type[BackendError]) -> None:
    rest = _rest(serve(lambda path: (code, {}, b'{"reason": "because of it"}')), token="the-token")
    with pytest.raises(kind, match="because of it") as caught:
        rest.get("x")
    assert "the-token" not in str(caught.value)


def test_an_error_is_one_line_without_the_trace_of_java(serve: Callable[..., _Served]) -> None:
    said = {"reason": "\n --- An unexpected error ---\n\nMessage: It is so\n\nStacktrace:\n\njava.lang.X\n\tat a.b"}
    rest = _rest(serve(lambda path: (500, {}, json.dumps(said).encode())))
    with pytest.raises(BackendError, match=r"\(500: --- An unexpected error --- Message: It is so\)$"):
        rest.get("x")


@pytest.mark.parametrize("content", [b"<html>", b"\xff\xfe", b"[1", b'"text"', b"[]"])
def test_answers_that_are_not_json(serve: Callable[..., _Served], content: bytes) -> None:
    refused = _rest(serve(lambda path: (500, {}, content)))
    with pytest.raises(BackendError):
        refused.get("x")
    odd = _rest(serve(lambda path: (200, {}, content)))
    if content.startswith((b'"', b"[]")):
        assert odd.get("x") in ("text", [])
    else:
        with pytest.raises(BackendError, match="admin_url"):
            odd.get("x")


@pytest.mark.parametrize("content", [b"", b"<html>Not Found</html>", b'{"error": "Not Found"}'])
def test_a_web_server_that_is_not_pulsars(serve: Callable[..., _Served], content: bytes) -> None:
    """It knows no such path, which does not mean that a queue does not exist and has no messages."""
    rest = _rest(serve(lambda path: (404, {}, content)))
    with pytest.raises(BackendError, match="admin_url") as caught:
        rest.get("x")
    assert not isinstance(caught.value, AddressRefused)


def test_nobody_answers() -> None:
    with socket.create_server(("127.0.0.1", 0)) as unused:
        port = unused.getsockname()[1]
    rest = rest_of(Endpoint(scheme="pulsar"), PulsarOptions(admin_url=f"http://127.0.0.1:{port}"))
    assert rest is not None
    for act, is_in_doubt in ((rest.get, False), (rest.delete, True)):
        with pytest.raises(BackendError, match="admin_url") as caught:
            act("x")
        assert caught.value.in_doubt is is_in_doubt


def test_topics_that_keep_nothing_are_not_counted() -> None:
    check_persistent("persistent://a/b/c")  # does not raise
    with pytest.raises(NotSupported, match="keeps no messages"):
        check_persistent("non-persistent://a/b/c")
