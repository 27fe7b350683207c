"""The recipes of `docs/writers.md` write to real servers: Python's HTTP server, Redis, MariaDB, OpenSearch."""

import json
import shutil
import subprocess
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.request import Request, urlopen

import pymysql
import pytest
import redis
from docs.test_models_of_pages import files_of
from support.opensearch import opensearch_server
from support.runs import built, create_topics, errors, send, statuses
from support.spark import SPARK_WARNINGS

pytestmark = SPARK_WARNINGS

ORDERS = [
    ("o1", {"customer_id": "ann", "amount": 1000.0}),
    ("o2", {"customer_id": "bob", "amount": 20.0}),
    ("o3", {"customer_id": "ann", "amount": 2000.0}),
]


@pytest.fixture
def page(shop, monkeypatch):
    """A project of the models of some files of the page."""
    create_topics(shop.bootstrap, "orders", partitions=1)
    files = {path: text for path, text in files_of("writers").items() if path.startswith("models/shop")}

    def project(*paths):
        for path, text in files.items():
            shop.write(path, text.partition("unit_tests:")[0])
        for path in paths:
            shop.write(path, files_of("writers")[path])
        (shop.root / "models/sources.yml").unlink(missing_ok=True)
        return shop

    return project


@contextmanager
def http_service(refusals):
    """A service that refuses so many requests, and knows the others by their keys; yield its address and requests."""
    requests, accepted = [], {}

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            key, body = self.headers["Idempotency-Key"], self.rfile.read(int(self.headers["Content-Length"]))
            requests.append((key, json.loads(body)))
            refused = len(requests) <= refusals
            if not refused:
                accepted.setdefault(key, json.loads(body))
            self.send_response(503 if refused else 204)
            self.end_headers()

        def log_message(self, *_):
            """Nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/orders", requests, accepted
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@contextmanager
def redis_server(folder):
    """A Redis server that listens on a socket of a folder; yield its URL."""
    socket = folder / "redis.sock"
    command = ["redis-server", "--port", "0", "--unixsocket", str(socket), "--save", "", "--dir", str(folder)]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        while "ready to accept connections" not in (line := server.stdout.readline()).lower():
            assert line, "Redis ended"
        yield f"unix://{socket}"
    finally:
        server.terminate()
        server.communicate(timeout=30)


def test_an_http_service_has_each_batch_once_although_it_was_not_there_at_first(
    page, first_spark, monkeypatch
):
    shop = page("models/large_orders.sql", "macros/order_service.py")
    send(shop.bootstrap, {"orders": ORDERS})
    with http_service(refusals=1) as (address, requests, accepted):
        monkeypatch.setenv("ORDER_SERVICE", address)
        results, _ = built(shop.root, first_spark)
    assert statuses(results) == {"large_orders": "success"}
    assert len(requests) == 2
    assert requests[0] == requests[1]
    (rows,) = accepted.values()
    assert [(row["order_id"], row["amount"]) for row in rows] == [("o1", 1000.0), ("o3", 2000.0)]


@pytest.mark.skipif(shutil.which("redis-server") is None, reason="Redis is not installed")
def test_redis_has_the_newest_totals(page, first_spark, monkeypatch, tmp_path_factory):
    shop = page("models/customer_totals.sql", "macros/totals_in_redis.py")
    with redis_server(tmp_path_factory.mktemp("redis")) as url, redis.Redis.from_url(url) as client:
        monkeypatch.setenv("REDIS_URL", url)
        send(shop.bootstrap, {"orders": ORDERS})
        built(shop.root, first_spark)
        send(shop.bootstrap, {"orders": [("o4", {"customer_id": "bob", "amount": 1.5})]})
        built(shop.root, first_spark)
        assert client.hgetall("totals:ann") == {b"orders": b"2", b"total": b"3000.0"}
        assert client.hgetall("totals:bob") == {b"orders": b"2", b"total": b"21.5"}


def answer(address, path, method="GET", body=None):
    data = None if body is None else json.dumps(body).encode()
    request = Request(address + path, data, {"Content-Type": "application/json"}, method=method)
    with urlopen(request, timeout=60) as response:
        return json.load(response)


def documents(address):
    """Return the documents of the index, by their identifiers."""
    answer(address, "/customers/_refresh", "POST")
    hits = answer(address, "/customers/_search")["hits"]["hits"]
    return {hit["_id"]: hit["_source"] for hit in hits}


@pytest.mark.long
@pytest.mark.skipif(shutil.which("mvn") is None, reason="Maven fetches the server, and is not installed")
def test_a_search_index_has_a_document_for_each_best_customer(
    page, first_spark, monkeypatch, tmp_path_factory
):
    shop = page("models/best_customers.sql", "macros/customers_in_search.py")
    with opensearch_server(tmp_path_factory.mktemp("opensearch")) as address:
        monkeypatch.setenv("SEARCH_URL", address)
        send(shop.bootstrap, {"orders": ORDERS})
        results, _ = built(shop.root, first_spark)
        assert statuses(results) == {"best_customers": "success"}
        assert documents(address) == {"ann": {"total": 3000.0}}
        changes = [("o4", {"customer_id": "ann", "amount": -2500.0})]
        changes.append(("o5", {"customer_id": "bob", "amount": 1000.0}))
        send(shop.bootstrap, {"orders": changes})
        built(shop.root, first_spark)
        assert documents(address) == {"bob": {"total": 1020.0}}

        # The index refuses what is no number, and the model says why.
        answer(address, "/customers", "DELETE")
        answer(address, "/customers", "PUT", {"mappings": {"properties": {"total": {"type": "boolean"}}}})
        send(shop.bootstrap, {"orders": [("o6", {"customer_id": "bob", "amount": 0.5})]})
        _, events = built(shop.root, first_spark)
        (failed,) = errors(events)
        assert failed.code == "MS861"
        assert "mapper_parsing_exception" in failed.message


@pytest.fixture
def mysql_socket(mariadb_process):
    """Create the tables of the recipe; return the server's socket."""
    socket, _ = mariadb_process
    with pymysql.connect(unix_socket=str(socket), user="root") as database, database.cursor() as cursor:
        cursor.execute("drop database if exists shop")
        cursor.execute("create database shop")
        cursor.execute("create table shop.order_log (order_id varchar(50), amount double)")
        cursor.execute("create table shop.batches (id varchar(200) primary key)")
    return str(socket)


def test_a_database_has_each_row_once_although_the_function_fails_after_its_transaction(
    page, first_spark, monkeypatch, mysql_socket
):
    shop = page("models/order_log.sql", "macros/log_in_mysql.py")
    failing = (
        files_of("writers")["macros/log_in_mysql.py"]
        + "    if not batch.is_repeated:\n        raise OSError\n"
    )
    shop.write("macros/log_in_mysql.py", failing)
    monkeypatch.setenv("MYSQL_SOCKET", mysql_socket)
    monkeypatch.setenv("MYSQL_USER", "root")
    send(shop.bootstrap, {"orders": [*ORDERS, ORDERS[0]]})
    results, _ = built(shop.root, first_spark)
    assert statuses(results) == {"order_log": "success"}
    with (
        pymysql.connect(unix_socket=mysql_socket, user="root", database="shop") as database,
        database.cursor() as cursor,
    ):
        cursor.execute("select order_id, amount from order_log order by order_id")
        assert cursor.fetchall() == (("o1", 1000.0), ("o1", 1000.0), ("o2", 20.0), ("o3", 2000.0))
        cursor.execute("select count(*) from batches")
        assert cursor.fetchall() == ((1,),)
