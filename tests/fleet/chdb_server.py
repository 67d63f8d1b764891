#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""A new ClickHouse, the package chdb, behind the part of its HTTP interface that heapsonde uses.

Usage: chdb_server.py PORT FOLDER"""
import gzip
import http.server
import os
import re
import socketserver
import sys
import tempfile
import urllib.parse

from chdb import session

REFUSED, WRONG_USER = 500, 403
USERS = {None: None, 'keeper': 'secret word'}


class Database:
    def __init__(self, folder):
        self.folder = folder
        self.session = session.Session(f'{folder}/data')

    def run(self, statement):
        return self.session.query(statement, 'TabSeparated').bytes()

    def insert(self, into, rows):
        """Rows come in a file; the types of the columns are asked for."""
        table, columns = re.fullmatch(r'INSERT INTO (\w+) \(([^)]*)\) FORMAT RowBinary\s*', into).groups()
        types = dict(line.split('\t') for line in self.run(
            f"SELECT name, type FROM system.columns WHERE database = currentDatabase() AND table = '{table}'").decode().splitlines())
        shape = ', '.join(f'{name} {types[name]}' for name in columns.split(', ')).replace("'", "\\'")
        with tempfile.NamedTemporaryFile(dir=self.folder) as file:
            file.write(rows)
            file.flush()
            return self.run(f"INSERT INTO {table} ({columns}) SELECT * FROM file('{file.name}', 'RowBinary', '{shape}')")

    def answer(self, database, query, body, settings):
        """Settings are for one statement, as with the real server."""
        self.run(f'USE {database}')
        try:
            for name, value in settings:
                self.run(f'SET {name} = {value}')
            return self.insert(query, body) if query else self.run(body.decode())
        finally:
            for name, _ in settings:
                self.run(f'SET {name} = DEFAULT')


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.0'

    def do_POST(self):  # noqa: N802
        body = self.rfile.read(int(self.headers['Content-Length']))
        if self.headers.get('Content-Encoding') == 'gzip':
            body = gzip.decompress(body)
        asked = urllib.parse.parse_qs(urllib.parse.urlparse(self.path).query)
        user, key = (self.headers.get(f'X-ClickHouse-{name}') for name in ('User', 'Key'))
        try:
            if user not in USERS or USERS[user] != key:
                raise PermissionError(WRONG_USER)
            settings = [(name, values[0]) for name, values in asked.items() if name.startswith('allow_')]
            status, answer = 200, self.server.database.answer(asked.get('database', ['default'])[0], asked.get('query', [''])[0], body, settings)
        except PermissionError:
            status, answer = WRONG_USER, b'Code: 516. Authentication failed'
        except Exception as error:  # pylint: disable=broad-except
            status, answer = REFUSED, str(error).encode()
        self.send_response(status)
        self.send_header('Content-Length', str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_):
        pass


class Server(socketserver.TCPServer):
    """One request after the other, each with a connection of its own: the session knows one database at a time."""
    allow_reuse_address = True

    def __init__(self, port, folder):
        super().__init__(('127.0.0.1', port), Handler)
        self.database = Database(folder)


def main():
    Server(int(sys.argv[1]), os.path.abspath(sys.argv[2])).serve_forever()


main()
