# SPDX-License-Identifier: MIT OR Apache-2.0
"""What a release is made of, in SPDX 2.3. Usage:
sbom.py write VERSION SOURCE_FOLDER INSTALLED_FOLDER LINK_LINE   writes it, and puts the licences of what is linked into the folder
sbom.py check FILE INSTALLED_FOLDER                              whether it is complete, and the files and licences are there"""
import datetime
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys

# What the command is linked with: name, licence, Debian's package with its licence, module of pkg-config.
PARTS = {
    "dw": ("elfutils", "GPL-2.0-or-later OR LGPL-3.0-or-later", "libdw-dev", "libdw"),
    "elf": ("elfutils", "GPL-2.0-or-later OR LGPL-3.0-or-later", "libdw-dev", "libdw"),
    "pcre2-8": ("PCRE2", "BSD-3-Clause", "libpcre2-dev", "libpcre2-8"),
    "z": ("zlib", "Zlib", "zlib1g-dev", "zlib"),
    "zstd": ("zstd", "BSD-3-Clause OR GPL-2.0-only", "libzstd-dev", "libzstd"),
    "sodium": ("libsodium", "ISC", "libsodium-dev", "libsodium"),
    "microhttpd": ("libmicrohttpd", "LGPL-2.1-or-later", "libmicrohttpd-dev", "libmicrohttpd"),
    "ncursesw": ("ncurses", "X11", "libncurses-dev", "ncursesw"),
    "tinfo": ("ncurses", "X11", "libncurses-dev", "tinfo"),
    "bz2": ("bzip2", "bzip2-1.0.6", "libbz2-dev", None),
    "lzma": ("xz", "LicenseRef-public-domain", "liblzma-dev", "liblzma"),
    "iberty": ("libiberty", "LGPL-2.1-or-later AND GPL-2.0-or-later WITH GCC-exception-2.0", "libiberty-dev", None),
    "c": ("glibc", "LGPL-2.1-or-later", "libc6-dev", None),
}
STATIC_ALWAYS = ["iberty"]
# What a command loads when it is needed, by the name that is in its file; it works without.
LOADED = {
    b"libmicrohttpd.so.12": ("libmicrohttpd", "LGPL-2.1-or-later", "libmicrohttpd-dev", "libmicrohttpd"),
    b"libcurl.so.4": ("curl", "curl", "libcurl4-gnutls-dev", "libcurl"),
    b"libmosquitto.so.1": ("libmosquitto", "EPL-2.0 OR BSD-3-Clause", "libmosquitto-dev", "libmosquitto"),
}
LICENCES = "share/doc/heapsonde/licences"
COMMON = "/usr/share/common-licenses"
BUNDLED = ("BearSSL",)


def command(*words):
    result = subprocess.run(words, capture_output=True, text=True, check=False)
    return result.stdout if result.returncode == 0 else ""


def identifier(name):
    return "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", name)


def package(name, version, licence):
    return {"SPDXID": identifier("Package-" + name), "name": name, "versionInfo": version, "filesAnalyzed": False,
            "downloadLocation": "NOASSERTION", "licenseConcluded": licence, "licenseDeclared": licence,
            "copyrightText": "NOASSERTION"}


def version_of(debian, module, folder):
    """The version of the library that is linked: as its module says, or Debian's package of this machine."""
    path = os.path.join(folder, "pkgconfig", f"{module}.pc")
    if module and os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            return re.search(r"^Version: *(.*)$", file.read(), re.M).group(1)
    return re.sub(r"^\d+:", "", command("dpkg-query", "-W", "-f", "${Version}", debian)) or "NOASSERTION"


def linked_with(binary, link_line):
    """What a shared command names, and what is inside it or a static one: names of libraries."""
    with open(link_line, encoding="utf-8") as file:
        words = file.read().split()
    shared = [re.sub(r"^lib|\.so\..*$", "", library)
              for library in re.findall(r"\(NEEDED\).*\[(lib.*)\]", command("readelf", "-dW", binary))]
    shared = ["c" if name == "m" else name for name in shared]
    if "-static-pie" not in words:
        return shared, STATIC_ALWAYS
    named = [re.sub(r"^(-l|.*/lib)|\.a$", "", word) for word in words if word.startswith("-l") or word.endswith(".a")]
    return [], [name for name in named if name in PARTS] + STATIC_ALWAYS + ["c"]


def loaded_by(binary):
    """The libraries that a command may load: the lines of LOADED."""
    with open(binary, "rb") as file:
        content = file.read()
    return [part for name, part in LOADED.items() if name + b"\0" in content]


def keep_licence(folder, name, debian):
    to = os.path.join(folder, LICENCES)
    os.makedirs(to, exist_ok=True)
    with open(f"/usr/share/doc/{debian}/copyright", encoding="utf-8") as file:
        text = file.read()
    with open(os.path.join(to, name + ".txt"), "w", encoding="utf-8") as file:
        file.write(text)
    # Debian's files refer to these by their paths.
    for common in set(re.findall(COMMON + r"/(L?GPL-[0-9.]*[0-9]|Apache-2.0)", text)):
        shutil.copyfile(os.path.join(COMMON, common), os.path.join(to, common))


def page_packages(source):
    """What of npm is inside the page: the dependencies that are no tools."""
    with open(os.path.join(source, "host/webui/package-lock.json"), encoding="utf-8") as file:
        packages = json.load(file)["packages"]
    return {path.split("node_modules/")[-1]: (entry["version"], entry["license"]) for path, entry in packages.items()
            if path and "esbuild" not in path}


def digest(path, kind):
    with open(path, "rb") as file:
        return hashlib.new(kind, file.read()).hexdigest()


def files_in(folder):
    """Their paths below it, without links and without the list itself."""
    paths = sorted(os.path.relpath(os.path.join(where, name), folder) for where, _, names in os.walk(folder) for name in names)
    return [path for path in paths if not os.path.islink(os.path.join(folder, path)) and not path.endswith("/sbom.spdx.json")]


def installed_files(folder):
    return [{"SPDXID": identifier(f"File-{number}"), "fileName": "./" + path, "licenseConcluded": "NOASSERTION",
             "licenseInfoInFiles": ["NOASSERTION"], "copyrightText": "NOASSERTION",
             "checksums": [{"algorithm": kind.upper(), "checksumValue": digest(os.path.join(folder, path), kind)}
                           for kind in ("sha1", "sha256")]}
            for number, path in enumerate(files_in(folder))]


def library_folder(source, binary):
    """Where the libraries came from that the command was linked with."""
    arm64 = "AArch64" in command("readelf", "-h", binary)
    sysroot = os.path.join(source, "build/sysroots/arm64")
    if arm64 and os.path.exists(sysroot) and os.uname().machine != "aarch64":
        return os.path.join(sysroot, "usr/lib/aarch64-linux-gnu")
    return "/usr/lib/" + ("aarch64" if arm64 else "x86_64") + "-linux-gnu"


def write(version, source, folder, link_line):
    created = datetime.datetime.fromtimestamp(int(os.environ["SOURCE_DATE_EPOCH"]), datetime.timezone.utc)
    binary = os.path.join(folder, "bin/heapsonde")
    own = {**package("heapsonde", version, "MIT OR Apache-2.0"), "primaryPackagePurpose": "APPLICATION"}
    packages, relations = {own["SPDXID"]: own}, [("SPDXRef-DOCUMENT", "DESCRIBES", own["SPDXID"])]

    def add(relation, name, number, licence):
        part = package(name, number, licence)
        if part["SPDXID"] not in packages:
            relations.append((own["SPDXID"], relation, part["SPDXID"]))
        packages[part["SPDXID"]] = part

    add("CONTAINS", "BearSSL", "0.6", "MIT")
    for name, (number, licence) in sorted(page_packages(source).items()):
        add("CONTAINS", name, number, licence)
    shared, static = linked_with(binary, link_line)
    for relation, libraries in (("STATIC_LINK", static), ("DYNAMIC_LINK", shared)):
        for name, licence, debian, module in sorted({PARTS[library] for library in libraries}, key=str):
            add(relation, name, version_of(debian, module, library_folder(source, binary)), licence)
            if relation == "STATIC_LINK":
                keep_licence(folder, name, debian)
    for name, licence, debian, module in loaded_by(binary):
        part = package(name, version_of(debian, module, library_folder(source, binary)), licence)
        packages[part["SPDXID"]] = part
        relations.append((part["SPDXID"], "OPTIONAL_DEPENDENCY_OF", own["SPDXID"]))
    files = installed_files(folder)
    relations += [(own["SPDXID"], "CONTAINS", file["SPDXID"]) for file in files]
    name = os.path.basename(folder)
    json.dump({
        "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": name,
        "documentNamespace": f"https://spdx.org/spdxdocs/{name}-{digest(binary, 'sha256')}",
        "creationInfo": {"created": created.strftime("%Y-%m-%dT%H:%M:%SZ"), "creators": ["Tool: heapsonde-packaging-sbom"]},
        "hasExtractedLicensingInfos": [{"licenseId": "LicenseRef-public-domain", "name": "public domain",
                                        "extractedText": "The authors have put this work into the public domain."}],
        "packages": list(packages.values()), "files": files,
        "relationships": [{"spdxElementId": a, "relationshipType": kind, "relatedSpdxElement": b}
                          for a, kind, b in relations],
    }, sys.stdout, indent=1, sort_keys=True)
    print()


def faults(document, folder):
    """What is wrong with it, a sentence each."""
    packages = {entry["SPDXID"]: entry for entry in document["packages"]}
    files = {entry["fileName"].removeprefix("./"): entry for entry in document["files"]}
    known = ["SPDXRef-DOCUMENT", *packages, *(entry["SPDXID"] for entry in document["files"])]
    if document["spdxVersion"] != "SPDX-2.3" or document["dataLicense"] != "CC0-1.0" or document["SPDXID"] != known[0]:
        yield "it is no document of SPDX 2.3"
    if len(set(known)) != len(known) or len(packages) != len(document["packages"]):
        yield "an identifier is there twice"
    for relation in document["relationships"]:
        if relation["spdxElementId"] not in known or relation["relatedSpdxElement"] not in known:
            yield f"a relationship names what is not there: {relation}"
        part = packages.get(relation["relatedSpdxElement"])
        if part and relation["relationshipType"] == "STATIC_LINK" and \
                not os.path.exists(os.path.join(folder, LICENCES, part["name"] + ".txt")):
            yield f"the licence of {part['name']} is missing"
    for part in packages.values():
        if "NOASSERTION" in (part["versionInfo"], part["licenseConcluded"]):
            yield f"{part['name']} has no version or no licence"
    for name in ("MIT", "APACHE", *BUNDLED, "Preact"):
        if not os.path.exists(os.path.join(folder, "share/doc/heapsonde/LICENSE-" + name)):
            yield f"LICENSE-{name} is missing"
    there = files_in(folder)
    for path in sorted(set(there) ^ set(files)):
        yield f"{path} is only in one of the list and the archive"
    for path in set(there) & set(files):
        for checksum in files[path]["checksums"]:
            if digest(os.path.join(folder, path), checksum["algorithm"].lower()) != checksum["checksumValue"]:
                yield f"{path} has another checksum"


def check(path, folder):
    with open(path, encoding="utf-8") as file:
        found = list(faults(json.load(file), folder))
    for fault in found:
        print(f"{path}: {fault}", file=sys.stderr)
    sys.exit(bool(found))


{"write": write, "check": check}[sys.argv[1]](*sys.argv[2:])
