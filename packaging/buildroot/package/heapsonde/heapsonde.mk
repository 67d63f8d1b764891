################################################################################
#
# heapsonde
#
################################################################################

HEAPSONDE_VERSION = 0.1.0
# The tree that this folder is in. For a release: the folder of its archives, and their hash in heapsonde.hash.
HEAPSONDE_SITE = $(BR2_EXTERNAL_HEAPSONDE_PATH)/../..
HEAPSONDE_SITE_METHOD = local
HEAPSONDE_LICENSE = MIT or Apache-2.0, MIT (BearSSL)
HEAPSONDE_LICENSE_FILES = LICENSE-MIT LICENSE-APACHE third_party/bearssl/LICENSE.txt
HEAPSONDE_INSTALL_STAGING = YES
HEAPSONDE_CONF_OPTS = -DHEAPSONDE_TESTS=OFF -DHEAPSONDE_WEBUI=off

ifeq ($(BR2_PACKAGE_HEAPSONDE_COMMAND),y)
HEAPSONDE_DEPENDENCIES += host-pkgconf elfutils pcre2 zlib
HEAPSONDE_CONF_OPTS += \
	-DHEAPSONDE_DOCUMENTS=OFF \
	-DHEAPSONDE_WITH_ZSTD=$(if $(BR2_PACKAGE_ZSTD),ON,OFF) \
	-DHEAPSONDE_WITH_SODIUM=$(if $(BR2_PACKAGE_LIBSODIUM),ON,OFF) \
	-DHEAPSONDE_WITH_MICROHTTPD=$(if $(BR2_PACKAGE_LIBMICROHTTPD),ON,OFF) \
	-DHEAPSONDE_WITH_NCURSES=$(if $(BR2_PACKAGE_NCURSES_WCHAR),ON,OFF) \
	-DHEAPSONDE_WITH_CURL=$(if $(BR2_PACKAGE_LIBCURL),ON,OFF) \
	-DHEAPSONDE_WITH_MOSQUITTO=$(if $(BR2_PACKAGE_MOSQUITTO),ON,OFF) \
	-DHEAPSONDE_WITH_IBERTY=OFF
HEAPSONDE_DEPENDENCIES += \
	$(if $(BR2_PACKAGE_ZSTD),zstd) \
	$(if $(BR2_PACKAGE_LIBCURL),libcurl) \
	$(if $(BR2_PACKAGE_MOSQUITTO),mosquitto) \
	$(if $(BR2_PACKAGE_NCURSES_WCHAR),ncurses) \
	$(if $(BR2_PACKAGE_LIBSODIUM),libsodium) \
	$(if $(BR2_PACKAGE_LIBMICROHTTPD),libmicrohttpd)
else
HEAPSONDE_CONF_OPTS += -DHEAPSONDE_SHIM_ONLY=ON
endif

$(eval $(cmake-package))
