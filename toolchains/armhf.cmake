# SPDX-License-Identifier: MIT OR Apache-2.0
set(HEAPSONDE_TRIPLET arm-linux-gnueabihf)
set(HEAPSONDE_DEBIAN_ARCHITECTURE armhf)
set(HEAPSONDE_QEMU qemu-arm)
set(CMAKE_SYSTEM_PROCESSOR armv7l)
include(${CMAKE_CURRENT_LIST_DIR}/gnu.cmake)
