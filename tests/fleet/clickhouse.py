# SPDX-License-Identifier: MIT OR Apache-2.0
"""A real clickhouse-server in a folder of its own, without root's paths; or the package chdb, which is a newer one: then the binary
is a Python that has it, behind 'chdb:'."""
import os
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
import ports  # noqa: E402

CHDB = 'chdb:'
started = []  # processes, to be ended whatever happens


def lack(binary):
    """Why there is no such server, or None."""
    if not binary or binary.endswith('NOTFOUND'):
        return 'there is no clickhouse-server'
    if binary.startswith(CHDB) and subprocess.run([binary.removeprefix(CHDB), '-c', 'import chdb'], stderr=subprocess.DEVNULL, check=False).returncode:
        return f'{binary.removeprefix(CHDB)} has no package chdb (pip install chdb)'
    return None


class Server:
    """The server chooses no port by itself, so another try is made when somebody else took ours."""

    CONFIG = '''<?xml version="1.0"?><yandex><logger><level>warning</level><log>{0}/log</log><errorlog>{0}/errors</errorlog>
<size>10M</size><count>1</count></logger><listen_host>127.0.0.1</listen_host><http_port>{1}</http_port><tcp_port>{2}</tcp_port>
<path>{0}/data/</path><tmp_path>{0}/tmp/</tmp_path><user_files_path>{0}/files/</user_files_path>
<format_schema_path>{0}/schemas/</format_schema_path><users_config>users.xml</users_config><default_profile>default</default_profile>
<default_database>default</default_database><mark_cache_size>67108864</mark_cache_size>{3}</yandex>'''
    USERS = '''<?xml version="1.0"?><yandex><profiles><default/></profiles><users><default><password></password><networks><ip>::/0</ip>
</networks><profile>default</profile><quota>default</quota></default><keeper><password>secret word</password><networks><ip>::/0</ip>
</networks><profile>default</profile><quota>default</quota></keeper></users><quotas><default/></quotas></yandex>'''

    def __init__(self, binary, work, settings=''):
        self.binary = binary
        self.folder = tempfile.mkdtemp(dir=work)
        self.process = None
        free = ports.free()
        while not self.process:
            self.port, other = next(free), next(free)
            with open(f'{self.folder}/config.xml', 'w', encoding='utf-8') as file:
                file.write(self.CONFIG.format(self.folder, self.port, other, settings))
            with open(f'{self.folder}/users.xml', 'w', encoding='utf-8') as file:
                file.write(self.USERS)
            self.start()
        self.address = f'clickhouse://127.0.0.1:{self.port}/fleet'

    def command(self):
        if not self.binary.startswith(CHDB):
            return [self.binary, f'--config-file={self.folder}/config.xml']
        return [self.binary.removeprefix(CHDB), os.path.join(os.path.dirname(os.path.abspath(__file__)), 'chdb_server.py'), str(self.port), self.folder]

    def start(self):
        """Leaves self.process as it is if the server ends, such as when its port was taken."""
        with open(f'{self.folder}/out', 'w', encoding='utf-8') as out:
            process = subprocess.Popen(self.command(), cwd=self.folder, stdout=out, stderr=out, stdin=subprocess.DEVNULL)
        started.append(process)
        while process.poll() is None:
            try:
                if self.ask('SELECT 1', database='default') == '1':
                    self.process = process
                    return
            except OSError:
                time.sleep(0.1)

    def make(self, statement):
        """A table with columns that servers let nobody have by chance."""
        word = 'suspicious' if self.binary.startswith(CHDB) else 'experimental'
        self.ask(statement, setting=f'allow_{word}_low_cardinality_type{"s" if word == "suspicious" else ""}=1')

    def kill(self):
        self.process.kill()
        self.process.wait()

    def ask(self, statement, database='fleet', setting=''):
        try:
            with urllib.request.urlopen(f'http://127.0.0.1:{self.port}/?database={database}{setting and "&"}{setting}', statement.encode()) as answer:
                return answer.read().decode().strip()
        except urllib.error.HTTPError as error:
            raise AssertionError(f'{statement}: {error.read().decode()}') from error
