# SPDX-License-Identifier: MIT OR Apache-2.0
#
# How the target half is installed. The libraries for targets go into a folder for their ABI (host/shims/shims.h), so that those of
# several machines lie side by side under one prefix, whatever the folder of this machine's libraries is called.
include(GNUInstallDirs)
set(HEAPSONDE_SHIM_DIR lib/heapsonde CACHE STRING "Where the libraries for targets are installed, below the prefix")
option(HEAPSONDE_STRIP_SHIMS "Install the libraries for targets without symbols; these are the component `debug`" ON)

if(NOT HEAPSONDE_ARCHITECTURE STREQUAL "arm")
  set(HEAPSONDE_ABI ${HEAPSONDE_ARCHITECTURE})
elseif(macros MATCHES " __ARM_PCS_VFP ")
  set(HEAPSONDE_ABI armhf)
else()
  set(HEAPSONDE_ABI armel)
endif()
if(HEAPSONDE_ABI STREQUAL "mips64" AND NOT macros MATCHES " __MIPSEB__ ")
  set(HEAPSONDE_ABI mips64el)
endif()

# The build has the layout of the installed files: lib/heapsonde/ABI/ with the library as it is installed, and its symbols in
# .debug/ beside it, where debuggers look.
function(heapsonde_install_shim name)
  set(file lib${name}.so)
  set(folder ${CMAKE_BINARY_DIR}/lib/heapsonde/${HEAPSONDE_ABI})
  if(HEAPSONDE_STRIP_SHIMS AND CMAKE_STRIP AND CMAKE_OBJCOPY)
    add_custom_command(
      TARGET ${name} POST_BUILD VERBATIM WORKING_DIRECTORY ${CMAKE_BINARY_DIR}/lib
      COMMAND ${CMAKE_COMMAND} -E make_directory ${folder}/.debug
      COMMAND ${CMAKE_OBJCOPY} --only-keep-debug ${file} ${folder}/.debug/${file}.debug
      COMMAND ${CMAKE_STRIP} --strip-unneeded -R .comment -o ${folder}/${file}.new ${file}
      COMMAND ${CMAKE_OBJCOPY} --add-gnu-debuglink=${folder}/.debug/${file}.debug ${folder}/${file}.new
      COMMAND ${CMAKE_COMMAND} -E rename ${folder}/${file}.new ${folder}/${file})
    install(FILES ${folder}/.debug/${file}.debug DESTINATION ${HEAPSONDE_SHIM_DIR}/${HEAPSONDE_ABI}/.debug COMPONENT debug
            EXCLUDE_FROM_ALL)
  else()
    add_custom_command(TARGET ${name} POST_BUILD VERBATIM
                       COMMAND ${CMAKE_COMMAND} -E make_directory ${folder}
                       COMMAND ${CMAKE_COMMAND} -E copy $<TARGET_FILE:${name}> ${folder}/${file})
  endif()
  install(PROGRAMS ${folder}/${file} DESTINATION ${HEAPSONDE_SHIM_DIR}/${HEAPSONDE_ABI} COMPONENT shims)
endfunction()
