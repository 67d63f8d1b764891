# SPDX-License-Identifier: MIT OR Apache-2.0
"""Writes what a release is made of, in SPDX 2.3. Usage: sbom.py VERSION SOURCE_FOLDER INSTALLED_FOLDER"""
import datetime
import hashlib
import json
import os
import re
import subprocess
import sys

# What the command is linked with: the names of the libraries, and their licences.
LIBRARIES = {
    "libdw.so.1": ("elfutils", "GPL-2.0-or-later OR LGPL-3.0-or-later"),
    "libelf.so.1": ("elfutils", "GPL-2.0-or-later OR LGPL-3.0-or-later"),
    "libpcre2-8.so.0": ("PCRE2", "BSD-3-Clause"),
    "libz.so.1": ("zlib", "Zlib"),
    "libzstd.so.1": ("zstd", "BSD-3-Clause OR GPL-2.0-only"),
    "libsodium.so.23": ("libsodium", "ISC"),
    "libmicrohttpd.so.12": ("libmicrohttpd", "LGPL-2.1-or-later"),
    "libncursesw.so.6": ("ncurses", "X11"),
    "libtinfo.so.6": ("ncurses", "X11"),
    "libc.so.6": ("glibc", "LGPL-2.1-or-later"),
    "libm.so.6": ("glibc", "LGPL-2.1-or-later"),
    "ld-linux-x86-64.so.2": ("glibc", "LGPL-2.1-or-later"),
    "ld-linux-aarch64.so.1": ("glibc", "LGPL-2.1-or-later"),
}


def command(*words):
    result = subprocess.run(words, capture_output=True, text=True)
    return result.stdout if result.returncode == 0 else ""


def identifier(name):
    return "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", name)


def package(name, version, licence, **more):
    return {"SPDXID": identifier("Package-" + name), "name": name, "versionInfo": version, "filesAnalyzed": False,
            "downloadLocation": "NOASSERTION", "licenseConcluded": licence, "licenseDeclared": licence,
            "copyrightText": "NOASSERTION", **more}


def debian_version(library):
    """Of the package that a library of this machine comes from."""
    for folder in ("/lib", "/usr/lib"):
        triplet = command("dpkg-architecture", "-qDEB_HOST_MULTIARCH").strip()
        owner = command("dpkg-query", "-S", f"{folder}/{triplet}/{library}").split(":")[0]
        if owner:
            return command("dpkg-query", "-W", "-f", "${Version}\\n", owner).split("\n")[0]
    return "NOASSERTION"


def linked_with(binary):
    """Name, version and licence of each library that the command needs."""
    found = {}
    for library in re.findall(r"\(NEEDED\).*\[(.*)\]", command("readelf", "-dW", binary)):
        name, licence = LIBRARIES.get(library, (library, "NOASSERTION"))
        found.setdefault(name, (debian_version(library), licence))
    return found


def page_packages(source):
    """What of npm is inside the page: the dependencies that are no tools."""
    with open(os.path.join(source, "host/webui/package-lock.json"), encoding="utf-8") as file:
        packages = json.load(file)["packages"]
    return {path.split("node_modules/")[-1]: (entry["version"], entry["license"]) for path, entry in packages.items()
            if path and "esbuild" not in path}


def digest(path, kind):
    with open(path, "rb") as file:
        return hashlib.new(kind, file.read()).hexdigest()


def installed_files(folder):
    paths = sorted(os.path.relpath(os.path.join(where, name), folder)
                   for where, _, names in os.walk(folder) for name in names)
    return [{"SPDXID": identifier(f"File-{number}"), "fileName": "./" + path, "licenseConcluded": "NOASSERTION",
             "licenseInfoInFiles": ["NOASSERTION"], "copyrightText": "NOASSERTION",
             "checksums": [{"algorithm": kind.upper(), "checksumValue": digest(os.path.join(folder, path), kind)}
                           for kind in ("sha1", "sha256")]}
            for number, path in enumerate(paths) if not os.path.islink(os.path.join(folder, path))]


def main():
    version, source, folder = sys.argv[1:]
    created = datetime.datetime.fromtimestamp(int(os.environ["SOURCE_DATE_EPOCH"]), datetime.timezone.utc)
    binary = os.path.join(folder, "bin/heapsonde")
    own = package("heapsonde", version, "MIT OR Apache-2.0", primaryPackagePurpose="APPLICATION")
    packages, relations = [own], [("SPDXRef-DOCUMENT", "DESCRIBES", own["SPDXID"])]

    def add(relation, name, number, licence):
        part = package(name, number, licence)
        packages.append(part)
        relations.append((own["SPDXID"], relation, part["SPDXID"]))

    add("CONTAINS", "BearSSL", "0.6", "MIT")
    for name, (number, licence) in sorted(page_packages(source).items()):
        add("CONTAINS", name, number, licence)
    iberty = command("dpkg-query", "-W", "-f", "${Version}", "libiberty-dev") or "NOASSERTION"
    add("STATIC_LINK", "libiberty", iberty, "GPL-2.0-or-later WITH GCC-exception-2.0")
    for name, (number, licence) in sorted(linked_with(binary).items()):
        add("DYNAMIC_LINK", name, number, licence)
    files = installed_files(folder)
    relations += [(own["SPDXID"], "CONTAINS", file["SPDXID"]) for file in files]
    json.dump({
        "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"heapsonde-{version}",
        "documentNamespace": f"https://spdx.org/spdxdocs/heapsonde-{version}-{digest(binary, 'sha256')}",
        "creationInfo": {"created": created.strftime("%Y-%m-%dT%H:%M:%SZ"), "creators": ["Tool: heapsonde-packaging-sbom"]},
        "packages": packages, "files": files,
        "relationships": [{"spdxElementId": a, "relationshipType": kind, "relatedSpdxElement": b}
                          for a, kind, b in relations],
    }, sys.stdout, indent=1, sort_keys=True)
    print()


main()
