"""An S3 server on loopback that counts what it is asked for, and fails when a test tells it to."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import WSGIRequestHandler, make_server

BUCKET = "bucket"


@dataclass(frozen=True)
class Request:
    """What the server saw, and how many bytes of the body it sent."""

    method: str
    path: str
    range: str
    status: int
    sent: int


@dataclass
class S3Server:
    """Requests in their order; `disturb` may change the answer to any GET of an object."""

    url: str = ""
    requests: list[Request] = field(default_factory=list)
    disturb: Callable[[bytes], tuple[str, bytes, int] | None] | None = None  # body -> status, body, length it claims
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def options(self) -> dict[str, Any]:
        """`storage_options` for this server."""
        client = {"region_name": "eu-west-1"}
        return {"key": "test", "secret": "test", "endpoint_url": self.url, "client_kwargs": client}

    def reads(self) -> list[Request]:
        """GETs of objects: not look-ups (HEAD), not listings."""
        return [request for request in self.requests if request.method == "GET" and request.path.count("/") > 1]

    def clear(self) -> None:
        self.requests.clear()

    @contextmanager
    def disturbed(self, how: Callable[[bytes], tuple[str, bytes, int] | None]) -> Iterator[None]:
        self.disturb = how
        try:
            yield
        finally:
            self.disturb = None

    def wrap(self, app: Any) -> Any:
        """The WSGI application, counted."""

        def counted(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
            started: list[Any] = []

            def hold(status: str, headers: list[tuple[str, str]], *rest: Any) -> Any:
                started[:] = [status, headers]
                return lambda piece: None

            found = app(environ, hold)
            body = b"".join(found)
            if hasattr(found, "close"):
                found.close()
            status, headers = started
            headers = [pair for pair in headers if pair[0].lower() not in ("server", "date")]  # werkzeug adds its own
            method, path = environ["REQUEST_METHOD"], environ["PATH_INFO"]
            if self.disturb is not None and method == "GET" and path.count("/") > 1:
                changed = self.disturb(body)
                if changed is not None:
                    status, body, claimed = changed
                    headers = [("Content-Type", "application/octet-stream"), ("Content-Length", str(claimed))]
            sent = 0 if method == "HEAD" else len(body)
            with self._lock:
                self.requests.append(
                    Request(method, path, environ.get("HTTP_RANGE", ""), int(status.split()[0]), sent)
                )
            start_response(status, headers)
            return [body]

        return counted


class _Quiet(WSGIRequestHandler):
    protocol_version = "HTTP/1.1"  # keeps connections, as S3 does

    def log(self, *_: Any) -> None:
        pass


@contextmanager
def s3_server() -> Iterator[S3Server]:
    """A server on a free port, in a thread of this process."""
    found = S3Server()
    app = found.wrap(DomainDispatcherApplication(create_backend_app))
    server = make_server("127.0.0.1", 0, app, threaded=True, request_handler=_Quiet)
    found.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield found
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
