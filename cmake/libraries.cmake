# SPDX-License-Identifier: MIT OR Apache-2.0
#
# The libraries of the host half and of its tests: one target PkgConfig::NAME each. One message names all that are missing.
find_package(Threads REQUIRED)
find_package(PkgConfig)

# One file: the command with all libraries in it, the C library too. toolchains/static-libraries builds what distributions have no
# fitting archive of.
option(HEAPSONDE_STATIC "Link the command statically" OFF)
set(HEAPSONDE_STATIC_LIBRARIES "${CMAKE_SOURCE_DIR}/build/sysroots/static-${HEAPSONDE_ABI}" CACHE PATH
    "With HEAPSONDE_STATIC: the folder with the include/ and lib/ of libmicrohttpd without TLS")

# heapsonde_link_statically(NAME): with what the library needs itself.
function(heapsonde_link_statically name)
  if(HEAPSONDE_STATIC AND TARGET PkgConfig::${name})
    set_target_properties(PkgConfig::${name} PROPERTIES INTERFACE_LINK_LIBRARIES "${${name}_STATIC_LDFLAGS}")
  endif()
endfunction()

# heapsonde_optional(NAME LIBRARY LOST): a library that was looked for before and that the command can do without: says what is
# lost then, here and in `heapsonde --version`. The tests need all of them. Sets HEAPSONDE_HAS_NAME.
set(HEAPSONDE_LOST "")
macro(heapsonde_optional name library lost)
  option(HEAPSONDE_WITH_${name} "Use ${library} where it is there; without it: ${lost}" ON)
  set(HEAPSONDE_HAS_${name} FALSE)
  if(HEAPSONDE_WITH_${name} AND found)
    set(HEAPSONDE_HAS_${name} TRUE)
  elseif(HEAPSONDE_TESTS)
    heapsonde_note_missing(FALSE ${library} ${ARGN})
  else()
    message(STATUS "Without ${library}: ${lost}")
    string(APPEND HEAPSONDE_LOST "without ${library}: ${lost}\\n")
  endif()
endmacro()

# heapsonde_optional_library(NAME MODULE LOST DEBIAN FEDORA ALPINE ARCH)
macro(heapsonde_optional_library name module lost)
  set(found FALSE)
  if(PKG_CONFIG_FOUND)
    pkg_check_modules(${name} QUIET IMPORTED_TARGET GLOBAL ${module})
    set(found ${${name}_FOUND})
    heapsonde_link_statically(${name})
  endif()
  heapsonde_optional(${name} ${module} ${lost} ${ARGN})
endmacro()

# heapsonde_library(NAME "MODULES OF pkg-config" DEBIAN FEDORA ALPINE ARCH): the last four are names of packages.
macro(heapsonde_library name modules)
  set(found FALSE)
  if(PKG_CONFIG_FOUND)
    separate_arguments(module_list UNIX_COMMAND "${modules}")
    pkg_check_modules(${name} QUIET IMPORTED_TARGET GLOBAL ${module_list})
    set(found ${${name}_FOUND})
    heapsonde_link_statically(${name})
  endif()
  heapsonde_note_missing("${found}" "${modules}" ${ARGN})
endmacro()

macro(heapsonde_note_missing found what debian fedora alpine arch)
  if(NOT "${found}")
    string(APPEND missing_libraries "  ${what}\n")
    string(APPEND missing_debian " ${debian}")
    string(APPEND missing_fedora " ${fedora}")
    string(APPEND missing_alpine " ${alpine}")
    string(APPEND missing_arch " ${arch}")
  endif()
endmacro()

# It has no module of pkg-config. Some distributions put its headers into a folder of their own.
macro(heapsonde_find_iberty)
  find_path(IBERTY_INCLUDE_DIR demangle.h PATH_SUFFIXES libiberty)
  find_library(IBERTY_LIBRARY iberty)
  set(found FALSE)
  if(IBERTY_INCLUDE_DIR AND IBERTY_LIBRARY)
    set(found TRUE)
  endif()
  heapsonde_optional(IBERTY libiberty "names of C++ and Rust functions stay mangled" libiberty-dev binutils-devel
                     binutils-dev binutils)
  if(HEAPSONDE_HAS_IBERTY)
    add_library(heapsonde_iberty INTERFACE)
    target_include_directories(heapsonde_iberty SYSTEM INTERFACE ${IBERTY_INCLUDE_DIR})
    target_link_libraries(heapsonde_iberty INTERFACE ${IBERTY_LIBRARY})
  endif()
endmacro()

heapsonde_note_missing("${PKG_CONFIG_FOUND}" "pkg-config" pkg-config pkgconf-pkg-config pkgconf pkgconf)
heapsonde_library(LIBDW "libdw libelf" "libdw-dev libelf-dev" elfutils-devel elfutils-dev libelf)
heapsonde_library(PCRE2 libpcre2-8 libpcre2-dev pcre2-devel pcre2-dev pcre2)
heapsonde_library(ZLIB zlib zlib1g-dev zlib-devel zlib-dev zlib)
heapsonde_optional_library(ZSTD libzstd "debug sections and heaptrack's files that are packed with zstd are not read"
                           libzstd-dev libzstd-devel zstd-dev zstd)
heapsonde_optional_library(SODIUM libsodium "gather deciphers more slowly" libsodium-dev libsodium-devel libsodium-dev
                           libsodium)
# heapsonde_optional_microhttpd(MICROHTTPD MODULE LOST DEBIAN FEDORA ALPINE ARCH): its archive in distributions needs libraries for
# TLS of which there are none.
macro(heapsonde_optional_microhttpd name module lost)
  if(HEAPSONDE_STATIC)
    find_library(MICROHTTPD_ARCHIVE libmicrohttpd.a PATHS ${HEAPSONDE_STATIC_LIBRARIES}/lib NO_DEFAULT_PATH NO_CMAKE_FIND_ROOT_PATH)
    set(found FALSE)
    if(MICROHTTPD_ARCHIVE)
      set(found TRUE)
      add_library(PkgConfig::MICROHTTPD INTERFACE IMPORTED GLOBAL)
      target_include_directories(PkgConfig::MICROHTTPD SYSTEM INTERFACE ${HEAPSONDE_STATIC_LIBRARIES}/include)
      target_link_libraries(PkgConfig::MICROHTTPD INTERFACE ${MICROHTTPD_ARCHIVE} Threads::Threads)
    endif()
    heapsonde_optional(${name} ${module} ${lost} ${ARGN})
  else()
    heapsonde_optional_library(${name} ${module} ${lost} ${ARGN})
  endif()
endmacro()

# heapsonde_optional_loaded(NAME MODULE LOST DEBIAN FEDORA ALPINE ARCH): it is loaded at run time, but not by a static command.
macro(heapsonde_optional_loaded name module lost)
  if(HEAPSONDE_STATIC)
    set(HEAPSONDE_HAS_${name} FALSE)
    string(APPEND HEAPSONDE_LOST "linked statically: ${lost}\\n")
  else()
    heapsonde_optional_library(${name} ${module} ${lost} ${ARGN})
  endif()
endmacro()

heapsonde_optional_library(NCURSES ncursesw "there is no top command" libncurses-dev ncurses-devel ncurses-dev ncurses)
heapsonde_optional_microhttpd(MICROHTTPD libmicrohttpd "there is no server, page, ctl serve, gather --metrics or run --open"
                              libmicrohttpd-dev libmicrohttpd-devel libmicrohttpd-dev libmicrohttpd)
heapsonde_optional_loaded(CURL libcurl "there is no fleet, push, gather --store or server --fleet" libcurl4-gnutls-dev
                          libcurl-devel curl-dev curl)
heapsonde_optional_loaded(MOSQUITTO libmosquitto "there is no gather --mqtt or push --mqtt" libmosquitto-dev
                          mosquitto-devel mosquitto-dev mosquitto)
if(HEAPSONDE_STATIC)
  string(APPEND HEAPSONDE_LOST "linked statically: debug information is not fetched from servers\\n")
endif()
heapsonde_find_iberty()
if(HEAPSONDE_TESTS)
  heapsonde_library(CHECK check check check-devel check-dev check)
  heapsonde_library(JANSSON jansson libjansson-dev jansson-devel jansson-dev jansson)
  heapsonde_library(CAPSTONE capstone libcapstone-dev capstone-devel capstone-dev capstone)
endif()
if(missing_libraries)
  set(advice "")
  if(HEAPSONDE_TESTS)
    set(advice "\nThe tests need some of these. Without them: -DHEAPSONDE_TESTS=OFF.")
  endif()
  message(FATAL_ERROR "These libraries, with their headers, are missing:\n${missing_libraries}"
                      "Install them with one of these lines:\n"
                      "  Debian, Ubuntu  apt install${missing_debian}\n"
                      "  Fedora          dnf install${missing_fedora}\n"
                      "  Alpine          apk add${missing_alpine}\n"
                      "  Arch            pacman -S${missing_arch}\n"
                      "The libraries for the target need none of them: -DHEAPSONDE_SHIM_ONLY=ON.${advice}")
endif()
