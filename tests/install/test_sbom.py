# SPDX-License-Identifier: MIT OR Apache-2.0
"""packaging/sbom.py: what it writes of a command is complete by its own check, and what is missing or changed is found."""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.join(os.path.dirname(os.path.realpath(__file__)), "../..")
LICENCES = ["APACHE", "MIT", "BearSSL", "Preact"]


class Sbom(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="heapsonde-sbom-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.stage = os.path.join(self.folder, "stage")
        self.documents = os.path.join(self.stage, "share/doc/heapsonde")
        os.makedirs(self.documents)
        os.mkdir(os.path.join(self.stage, "bin"))
        shutil.copy("/bin/true", os.path.join(self.stage, "bin/heapsonde"))
        for name in LICENCES:
            shutil.copy(os.path.join(ROOT, "LICENSE-MIT"), os.path.join(self.documents, "LICENSE-" + name))

    def sbom(self, *words):
        return subprocess.run([sys.executable, os.path.join(ROOT, "packaging/sbom.py"), *words], capture_output=True, text=True,
                              check=False, env={**os.environ, "SOURCE_DATE_EPOCH": "1000000000"})

    def write(self, link):
        path = os.path.join(self.folder, "link")
        with open(path, "w", encoding="ascii") as file:
            file.write(link)
        done = self.sbom("write", "1.2.3", ROOT, self.stage, path)
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(os.path.join(self.folder, "list.json"), "w", encoding="utf-8") as file:
            file.write(done.stdout)
        self.relations = json.loads(done.stdout)["relationships"]
        return sorted(entry["relatedSpdxElement"].removeprefix("SPDXRef-Package-") for entry in self.relations
                      if entry["relationshipType"] == "STATIC_LINK")

    def check(self, words=""):
        done = self.sbom("check", os.path.join(self.folder, "list.json"), self.stage)
        self.assertEqual((done.returncode, words in done.stderr), (1 if words else 0, True), done.stderr)

    def test_shared(self):
        self.assertEqual(self.write("cc -o bin/heapsonde a.o -ldw -lz"), ["libiberty"])
        self.check()

    def test_loaded(self):
        def optional():
            return [(entry["spdxElementId"], entry["relatedSpdxElement"]) for entry in self.relations
                    if entry["relationshipType"] == "OPTIONAL_DEPENDENCY_OF"]
        self.write("cc -o bin/heapsonde a.o")
        self.assertEqual(optional(), [])
        with open(os.path.join(self.stage, "bin/heapsonde"), "ab") as file:
            file.write(b"\0libmosquitto.so.1\0libcurl.so.4 is not there\0")
        self.write("cc -o bin/heapsonde a.o")
        self.assertEqual(optional(), [("SPDXRef-Package-libmosquitto", "SPDXRef-Package-heapsonde")])
        self.check()

    def test_static(self):
        self.assertEqual(self.write("cc -static-pie -o bin/heapsonde a.o -ldw -lz /x/lib/libmicrohttpd.a -lpthread"),
                         ["elfutils", "glibc", "libiberty", "libmicrohttpd", "zlib"])
        self.assertTrue(os.path.exists(os.path.join(self.documents, "licences/LGPL-2.1")))
        self.check()

    def test_faults(self):
        self.write("cc -static-pie -ldw")
        os.rename(os.path.join(self.documents, "LICENSE-BearSSL"), os.path.join(self.folder, "kept"))
        self.check("LICENSE-BearSSL is missing")
        os.rename(os.path.join(self.folder, "kept"), os.path.join(self.documents, "LICENSE-BearSSL"))
        with open(os.path.join(self.stage, "bin/heapsonde"), "ab") as file:
            file.write(b"x")
        self.check("bin/heapsonde has another checksum")
        os.remove(os.path.join(self.documents, "licences/elfutils.txt"))
        self.check("the licence of elfutils is missing")


if __name__ == "__main__":
    if not os.path.exists("/usr/share/doc/libdw-dev/copyright"):
        sys.exit(77)
    unittest.main(verbosity=2)
