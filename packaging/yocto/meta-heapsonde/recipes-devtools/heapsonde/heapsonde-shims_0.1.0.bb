SUMMARY = "Memory profiler: the libraries that are preloaded"
DESCRIPTION = "Records where the memory of a program goes, without a rebuild. Traces are read by the command heapsonde \
on the developer's machine (heapsonde-native)."
LICENSE = "(MIT | Apache-2.0) & MIT"
LIC_FILES_CHKSUM = "file://LICENSE-MIT;md5=b22af7daf95d4d185f6c8c6c6a2a9cd8 \
                    file://LICENSE-APACHE;md5=3b83ef96387f14655fc854ddc3c6bd57 \
                    file://third_party/bearssl/LICENSE.txt;md5=1fc37e1037ae673975fbcb96a98f7191"

# HEAPSONDE_MIRROR: where the archives of releases are; local.conf says so, and their checksum.
SRC_URI = "${HEAPSONDE_MIRROR}/heapsonde-${PV}.tar.xz"
S = "${WORKDIR}/heapsonde-${PV}"

inherit cmake
EXTRA_OECMAKE = "-DHEAPSONDE_SHIM_ONLY=ON -DHEAPSONDE_STRIP_SHIMS=OFF -DHEAPSONDE_SHIM_DIR=${nonarch_libdir}/heapsonde"
COMPATIBLE_HOST = "(x86_64|aarch64|arm|mips64|mips64el).*-linux.*"

PACKAGES =+ "heapsonde-unwind"
FILES:${PN} = "${nonarch_libdir}/heapsonde"
FILES:heapsonde-unwind = "${libdir}/libheapsonde-unwind.so.*"
# Nothing may be linked to them, and they are linked to nothing.
INSANE_SKIP:${PN} += "ldflags"
SOLIBS = ".so.*"
