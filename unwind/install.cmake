# SPDX-License-Identifier: MIT OR Apache-2.0
#
# libheapsonde-unwind for other programs: the libraries, the header, heapsonde-unwind.pc and the package of CMake, which has
# the targets heapsonde::heapsonde-unwind and heapsonde::heapsonde-unwind-static. All of them may be moved together.
include(CMakePackageConfigHelpers)
set(packages ${CMAKE_INSTALL_LIBDIR}/cmake/heapsonde-unwind)
cmake_path(ABSOLUTE_PATH CMAKE_INSTALL_LIBDIR BASE_DIRECTORY ${CMAKE_INSTALL_PREFIX} NORMALIZE OUTPUT_VARIABLE libraries)
file(RELATIVE_PATH prefix_from_pc ${libraries}/pkgconfig ${CMAKE_INSTALL_PREFIX})
configure_file(heapsonde-unwind.pc.in heapsonde-unwind.pc @ONLY)
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/heapsonde-unwind-config-version.cmake
                                 COMPATIBILITY SameMinorVersion)

install(TARGETS heapsonde-unwind heapsonde-unwind-static EXPORT heapsonde-unwind COMPONENT unwind
        LIBRARY NAMELINK_COMPONENT unwind INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT heapsonde-unwind NAMESPACE heapsonde:: FILE heapsonde-unwind-config.cmake DESTINATION ${packages}
        COMPONENT unwind)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/heapsonde-unwind-config-version.cmake DESTINATION ${packages} COMPONENT unwind)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/heapsonde-unwind.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT unwind)
install(DIRECTORY include/heapsonde TYPE INCLUDE COMPONENT unwind)
