"""JSON over HTTP to a broker's administration."""

import base64
import json
import urllib.error
import urllib.request
from typing import Any
from urllib.parse import quote

from integration.lab.errors import BrokerFailed

__all__ = ["Rest", "quoted"]

_direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # loopback never goes through a proxy


def quoted(name: str) -> str:
    """A name as one segment of a path."""
    return quote(name, safe="")


class Rest:
    """The administration of one broker; calls block, for 15 seconds at most; BrokerFailed says what was refused."""

    def __init__(self, base: str, user: str | None = None, password: str = "") -> None:
        self.base = base
        self._headers = {"Content-Type": "application/json", "Origin": base}
        if user is not None:
            token = base64.b64encode(f"{user}:{password}".encode()).decode()
            self._headers["Authorization"] = f"Basic {token}"

    def __repr__(self) -> str:
        return f"Rest({self.base!r})"

    def get(self, path: str) -> Any:
        """GET: return the resource."""
        return self.call("GET", path)

    def put(self, path: str, body: Any = None) -> Any:
        """PUT: create or replace the resource."""
        return self.call("PUT", path, body)

    def post(self, path: str, body: Any = None) -> Any:
        """POST to the resource."""
        return self.call("POST", path, body)

    def delete(self, path: str) -> Any:
        """DELETE: remove the resource; one that does not exist is no error."""
        return self.call("DELETE", path, missing_ok=True)

    def call(self, method: str, path: str, body: Any = None, *, missing_ok: bool = False) -> Any:
        """One request, and the JSON of its answer, or None."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.base + path, data, self._headers, method=method)
        try:
            with _direct.open(request, timeout=15) as answer:
                text = answer.read()
        except urllib.error.HTTPError as error:
            with error:
                said = error.read().decode(errors="replace").strip()
            if error.code == 404 and missing_ok:
                return None
            raise BrokerFailed(f"{method} {self.base}{path}: {error.code} {said[:300]}") from None
        except OSError as error:
            raise BrokerFailed(f"{method} {self.base}{path}: {error}") from error
        return json.loads(text) if text.strip() else None
