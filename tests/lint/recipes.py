# SPDX-License-Identifier: MIT OR Apache-2.0
"""Whether the recipes in packaging/ and scripts/lib.sh name the packages that cmake/libraries.cmake looks for."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
CALL = re.compile(r'^ *heapsonde_(?:library|optional(?:_[a-z]+)?)\(([^)]*)\)', re.MULTILINE)
WORD = re.compile(r'"([^"]*)"|([^\s"]+)')
DISTRIBUTIONS = ["debian", "fedora", "alpine", "arch"]
# What other recipes call a library. For those that are not here, a recipe has the option of CMake.
NAMED = {
    "nix/default.nix": {"LIBDW": "pkgs.elfutils", "PCRE2": "pkgs.pcre2", "ZLIB": "pkgs.zlib", "ZSTD": "pkgs.zstd", "SODIUM": "pkgs.libsodium",
                        "MICROHTTPD": "pkgs.libmicrohttpd", "NCURSES": "pkgs.ncurses", "CURL": "pkgs.curl", "MOSQUITTO": "pkgs.mosquitto",
                        "IBERTY": "pkgs.libiberty"},
    "buildroot/package/heapsonde/heapsonde.mk": {"LIBDW": "elfutils", "PCRE2": "pcre2", "ZLIB": "zlib"},
    "yocto/meta-heapsonde/recipes-devtools/heapsonde/heapsonde_0.1.0.bb": {"LIBDW": "elfutils", "PCRE2": "libpcre2", "ZLIB": "zlib"},
}


def libraries():
    """{NAME: {distribution: [packages]}} of the command."""
    text = (ROOT / "cmake/libraries.cmake").read_text(encoding="utf-8")
    text = text[:text.index("\nif(HEAPSONDE_TESTS)")]
    found = {}
    for arguments in CALL.findall(text):
        words = [quoted or plain for quoted, plain in WORD.findall(arguments)]
        if len(words) >= 6 and words[0].isupper():
            found[words[0]] = dict(zip(DISTRIBUTIONS, (word.split() for word in words[-4:])))
    return found


def missing(path, words):
    text = (ROOT / path).read_text(encoding="utf-8")
    return [f"{path} lacks {word}" for word in words if not re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", text)]


def main():
    known = libraries()
    assert set(NAMED["nix/default.nix"]) == set(known), known
    problems = []
    for path, distribution in (("packaging/debian/control", "debian"), ("scripts/lib.sh", "debian"), ("packaging/alpine/APKBUILD", "alpine"),
                               ("packaging/arch/PKGBUILD", "arch")):
        problems += missing(path, sorted({name for packages in known.values() for name in packages[distribution]}))
    for path, names in NAMED.items():
        wanted = [names.get(library, "-DHEAPSONDE_WITH_" + library) for library in known]
        problems += missing("packaging/" + path, wanted)
    print("\n".join(problems) if problems else f"{len(known)} libraries: all recipes name them")
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
