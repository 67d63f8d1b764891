SUMMARY = "Memory profiler: the command"
DESCRIPTION = "Reads traces of heapsonde-shims, and records on the machine that it runs on."
LICENSE = "(MIT | Apache-2.0) & MIT"
LIC_FILES_CHKSUM = "file://LICENSE-MIT;md5=b22af7daf95d4d185f6c8c6c6a2a9cd8 \
                    file://LICENSE-APACHE;md5=3b83ef96387f14655fc854ddc3c6bd57 \
                    file://third_party/bearssl/LICENSE.txt;md5=1fc37e1037ae673975fbcb96a98f7191"

SRC_URI = "${HEAPSONDE_MIRROR}/heapsonde-${PV}.tar.xz"
S = "${WORKDIR}/heapsonde-${PV}"

COMPATIBLE_HOST = "(x86_64|aarch64).*-linux.*"
DEPENDS = "elfutils libpcre2 zlib"
inherit cmake pkgconfig
EXTRA_OECMAKE = "-DHEAPSONDE_TESTS=OFF -DHEAPSONDE_WEBUI=dist -DHEAPSONDE_DOCUMENTS=OFF -DHEAPSONDE_WITH_IBERTY=OFF \
                 -DHEAPSONDE_SHIM_DIR=${nonarch_libdir}/heapsonde"
PACKAGECONFIG ??= "server zstd sodium curl ncurses"
PACKAGECONFIG[server] = "-DHEAPSONDE_WITH_MICROHTTPD=ON,-DHEAPSONDE_WITH_MICROHTTPD=OFF,libmicrohttpd"
PACKAGECONFIG[zstd] = "-DHEAPSONDE_WITH_ZSTD=ON,-DHEAPSONDE_WITH_ZSTD=OFF,zstd"
PACKAGECONFIG[curl] = "-DHEAPSONDE_WITH_CURL=ON,-DHEAPSONDE_WITH_CURL=OFF,curl"
PACKAGECONFIG[ncurses] = "-DHEAPSONDE_WITH_NCURSES=ON,-DHEAPSONDE_WITH_NCURSES=OFF,ncurses"
# Its recipe is in meta-networking, for targets alone.
PACKAGECONFIG[mosquitto] = "-DHEAPSONDE_WITH_MOSQUITTO=ON,-DHEAPSONDE_WITH_MOSQUITTO=OFF,mosquitto"
PACKAGECONFIG[sodium] = "-DHEAPSONDE_WITH_SODIUM=ON,-DHEAPSONDE_WITH_SODIUM=OFF,libsodium"

do_install() {
    DESTDIR=${D} cmake --install ${B} --component host
}
# libmicrohttpd, libcurl and libmosquitto are loaded when they are needed.
RDEPENDS:${PN}:append:class-target = " heapsonde-shims \
    ${@bb.utils.contains('PACKAGECONFIG', 'server', 'libmicrohttpd', '', d)} \
    ${@bb.utils.contains('PACKAGECONFIG', 'curl', 'libcurl', '', d)} \
    ${@bb.utils.contains('PACKAGECONFIG', 'mosquitto', 'libmosquitto1', '', d)}"
BBCLASSEXTEND = "native nativesdk"
