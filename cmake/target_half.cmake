# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Everything that runs inside the target process: no libc, no TLS call, no stack protector; unwound by its tables. The options
# and, in each folder, the names of the sources are text files, because Makefile.shim reads them too.

# heapsonde_lines(VARIABLE FILE): the lines of a file; a change of the file configures anew.
macro(heapsonde_lines variable file)
  file(STRINGS ${file} ${variable})
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
endmacro()

heapsonde_lines(HEAPSONDE_TARGET_COMPILE_OPTIONS ${CMAKE_CURRENT_LIST_DIR}/target_options.txt)
if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
  heapsonde_lines(more ${CMAKE_CURRENT_LIST_DIR}/target_gcc_options.txt)
  list(APPEND HEAPSONDE_TARGET_COMPILE_OPTIONS ${more})
endif()
heapsonde_lines(HEAPSONDE_TARGET_LINK_OPTIONS ${CMAKE_CURRENT_LIST_DIR}/target_link_options.txt)

# HEAPSONDE_ARCHITECTURE: the folder of arch/ that arch/arch.h takes with this compiler and its options.
separate_arguments(flags UNIX_COMMAND "${CMAKE_C_FLAGS}")
execute_process(COMMAND ${CMAKE_C_COMPILER} ${CMAKE_C_COMPILER_ARG1} ${flags} -ffreestanding -MM -MG -x c
                        ${CMAKE_SOURCE_DIR}/arch/arch.h
                OUTPUT_VARIABLE headers ERROR_VARIABLE problem RESULT_VARIABLE status)
if(status OR NOT headers MATCHES "([a-z0-9]+)/registers\\.h")
  message(FATAL_ERROR "${CMAKE_C_COMPILER} builds for a machine that heapsonde does not know:\n${problem}")
endif()
set(HEAPSONDE_ARCHITECTURE ${CMAKE_MATCH_1})

# Where arch/NAME/options.txt is, it has more options for that architecture. AMD64: programs may call with a stack that is
# not aligned to 16 bytes (musl does when it cancels a thread), so vector registers, which need that, are not used.
if(EXISTS ${CMAKE_SOURCE_DIR}/arch/${HEAPSONDE_ARCHITECTURE}/options.txt)
  heapsonde_lines(options ${CMAKE_SOURCE_DIR}/arch/${HEAPSONDE_ARCHITECTURE}/options.txt)
  list(APPEND HEAPSONDE_TARGET_COMPILE_OPTIONS ${options})
endif()

# arch/NAME/link_options.txt has the largest page of the architecture's kernels: segments are that far apart. AMD64 has one
# size of pages, and there the code may share a page with what is only read, as elsewhere. The shims are linked without
# RELRO (cmake/shim_link_options.txt): it would fill their files up to the next border of such a page, by up to 64 KiB, and
# protects little in them, since the addresses of the real functions are in memory that is written anyway.
heapsonde_lines(more ${CMAKE_SOURCE_DIR}/arch/${HEAPSONDE_ARCHITECTURE}/link_options.txt)
list(APPEND HEAPSONDE_TARGET_LINK_OPTIONS ${more})
heapsonde_lines(HEAPSONDE_SHIM_LINK_OPTIONS ${CMAKE_CURRENT_LIST_DIR}/shim_link_options.txt)

# Where arch/NAME/fast_sources.txt is, everything that it does not name is compiled for size, by the options in
# cmake/small_options.txt, and gcc's own in cmake/small_gcc_options.txt and, found by trial for each architecture, in
# arch/NAME/small_gcc_options.txt. Not -Oz: gcc's tables then know nothing of the
# pushes with which it loads small numbers, and the stack of a signal handler that interrupts such code would end there.
if(EXISTS ${CMAKE_SOURCE_DIR}/arch/${HEAPSONDE_ARCHITECTURE}/fast_sources.txt)
  heapsonde_lines(HEAPSONDE_FAST_SOURCES ${CMAKE_SOURCE_DIR}/arch/${HEAPSONDE_ARCHITECTURE}/fast_sources.txt)
  heapsonde_lines(HEAPSONDE_SMALL_OPTIONS ${CMAKE_CURRENT_LIST_DIR}/small_options.txt)
  if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
    heapsonde_lines(more ${CMAKE_CURRENT_LIST_DIR}/small_gcc_options.txt)
    list(APPEND HEAPSONDE_SMALL_OPTIONS ${more})
    if(EXISTS ${CMAKE_SOURCE_DIR}/arch/${HEAPSONDE_ARCHITECTURE}/small_gcc_options.txt)
      heapsonde_lines(more ${CMAKE_SOURCE_DIR}/arch/${HEAPSONDE_ARCHITECTURE}/small_gcc_options.txt)
      list(APPEND HEAPSONDE_SMALL_OPTIONS ${more})
    endif()
  endif()
endif()

# ARM: arch/arm/thumb_sources.txt names what is compiled as Thumb code, which is smaller, where ARM code is the rule: nothing
# that is fast or captures registers.
execute_process(COMMAND ${CMAKE_C_COMPILER} ${CMAKE_C_COMPILER_ARG1} ${flags} -dM -E -x c /dev/null OUTPUT_VARIABLE macros)
if(EXISTS ${CMAKE_SOURCE_DIR}/arch/${HEAPSONDE_ARCHITECTURE}/thumb_sources.txt AND NOT macros MATCHES " __thumb__ ")
  heapsonde_lines(HEAPSONDE_THUMB_SOURCES ${CMAKE_SOURCE_DIR}/arch/${HEAPSONDE_ARCHITECTURE}/thumb_sources.txt)
endif()

# Where gcc can, what is compiled for size is optimised across files in the shims, which makes them 5 to 9 % smaller:
# cmake/link_time_options.txt, with arch/NAME/link_time_options.txt behind it (how large a function that is called once may
# be to be inlined is found by trial). What is fast stays as its file was compiled, and so does what
# cmake/plain_sources.txt names. -Os is there since gcc takes the options of linking for some of the code. On AMD64 and AArch64
# the code that is optimised across files has no unwind tables in memory, as on MIPS64: they were a sixth of the file. A signal
# in there is unwound by analysis (tests/analysis/ counts where it is right), and .debug_frame is with the symbols. What
# exceptions pass through keeps its tables, and is therefore in cmake/plain_sources.txt (tests/shim_build/throwing), in the
# folder shims/; what that file names of other folders has none either.
heapsonde_lines(HEAPSONDE_PLAIN_SOURCES ${CMAKE_CURRENT_LIST_DIR}/plain_sources.txt)
heapsonde_lines(options ${CMAKE_CURRENT_LIST_DIR}/link_time_options.txt)
if(EXISTS ${CMAKE_SOURCE_DIR}/arch/${HEAPSONDE_ARCHITECTURE}/link_time_options.txt)
  heapsonde_lines(more ${CMAKE_SOURCE_DIR}/arch/${HEAPSONDE_ARCHITECTURE}/link_time_options.txt)
  list(APPEND options ${more})
endif()
set(probe ${CMAKE_BINARY_DIR}/CMakeFiles/link_time)
execute_process(COMMAND ${CMAKE_C_COMPILER} ${CMAKE_C_COMPILER_ARG1} ${flags} ${options} -nostdlib -shared -fPIC -x c
                        /dev/null -o ${probe}
                OUTPUT_QUIET ERROR_QUIET RESULT_VARIABLE status)
if(CMAKE_C_COMPILER_ID STREQUAL "GNU" AND status EQUAL 0)
  # The compiler runs once more when it links, and notes its folder.
  set(HEAPSONDE_LINK_TIME_OPTIONS ${options} "-ffile-prefix-map=${CMAKE_SOURCE_DIR}/=")
  set(HEAPSONDE_TABLE_OPTIONS ${options})
  list(FILTER HEAPSONDE_TABLE_OPTIONS INCLUDE REGEX "unwind-tables$")
endif()

# Where arch/NAME/shim_options.txt is, it has more options of gcc's for the objects of the shims and for their linking.
# AArch64: addresses by one instruction instead of two, which leaves 1 MiB to each shim without its large tables (arch/far.h).
if(CMAKE_C_COMPILER_ID STREQUAL "GNU" AND EXISTS ${CMAKE_SOURCE_DIR}/arch/${HEAPSONDE_ARCHITECTURE}/shim_options.txt)
  heapsonde_lines(HEAPSONDE_SHIM_OPTIONS ${CMAKE_SOURCE_DIR}/arch/${HEAPSONDE_ARCHITECTURE}/shim_options.txt)
endif()

# heapsonde_target_objects(NAME [FOLDERS...]): an object library of the target half, made of what sources.txt names in
# the current folder and in those below it. NAME_shim is the same for the shims, where files are optimised together.
function(heapsonde_target_objects name)
  set(sources)
  foreach(folder "" ${ARGN})
    heapsonde_lines(names ${CMAKE_CURRENT_SOURCE_DIR}/${folder}sources.txt)
    list(TRANSFORM names PREPEND "${folder}")
    list(APPEND sources ${names})
  endforeach()
  add_library(${name} OBJECT EXCLUDE_FROM_ALL ${sources})
  target_compile_options(${name} PRIVATE ${HEAPSONDE_TARGET_COMPILE_OPTIONS})
  file(RELATIVE_PATH here ${CMAKE_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR})
  if(HEAPSONDE_FAST_SOURCES)
    foreach(source ${sources})
      if(NOT "${here}/${source}" IN_LIST HEAPSONDE_FAST_SOURCES AND source MATCHES "\\.c$")
        set_property(SOURCE ${source} TARGET_DIRECTORY ${name} APPEND PROPERTY COMPILE_OPTIONS
                     ${HEAPSONDE_SMALL_OPTIONS})
      endif()
      if("${here}/${source}" IN_LIST HEAPSONDE_THUMB_SOURCES)
        set_property(SOURCE ${source} TARGET_DIRECTORY ${name} APPEND PROPERTY COMPILE_OPTIONS -mthumb
                     -DHEAPSONDE_THUMB_SOURCE)
      endif()
    endforeach()
  endif()
  set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  if(NOT HEAPSONDE_SHIM_OPTIONS AND NOT HEAPSONDE_LINK_TIME_OPTIONS)
    add_library(${name}_shim ALIAS ${name})
    return()
  endif()
  add_library(${name}_shim OBJECT EXCLUDE_FROM_ALL ${sources})
  set_target_properties(${name}_shim PROPERTIES HEAPSONDE_SHIM ON)
  target_compile_definitions(${name}_shim PRIVATE $<TARGET_PROPERTY:${name},COMPILE_DEFINITIONS>)
  target_include_directories(${name}_shim PRIVATE $<TARGET_PROPERTY:${name},INCLUDE_DIRECTORIES>)
  target_compile_options(${name}_shim PRIVATE $<TARGET_PROPERTY:${name},COMPILE_OPTIONS>)
  target_compile_options(${name}_shim PRIVATE $<$<COMPILE_LANGUAGE:C>:${HEAPSONDE_SHIM_OPTIONS}>)
  if(HEAPSONDE_LINK_TIME_OPTIONS)
    target_compile_options(${name}_shim PRIVATE $<$<COMPILE_LANGUAGE:C>:-flto>)
    foreach(source ${sources})
      if("${here}/${source}" IN_LIST HEAPSONDE_FAST_SOURCES OR "${here}/${source}" IN_LIST HEAPSONDE_PLAIN_SOURCES)
        set_property(SOURCE ${source} APPEND PROPERTY COMPILE_OPTIONS -fno-lto)
      endif()
      if("${here}/${source}" IN_LIST HEAPSONDE_PLAIN_SOURCES AND NOT here MATCHES "^shims/")
        set_property(SOURCE ${source} APPEND PROPERTY COMPILE_OPTIONS
                     "$<$<BOOL:$<TARGET_PROPERTY:HEAPSONDE_SHIM>>:${HEAPSONDE_TABLE_OPTIONS}>")
      endif()
    endforeach()
  endif()
  set_target_properties(${name}_shim PROPERTIES POSITION_INDEPENDENT_CODE ON)
endfunction()

# heapsonde_target_library(NAME VERSION_SCRIPT OBJECT_LIBRARIES...): a .so without DT_NEEDED and without versions.
function(heapsonde_target_library name script)
  set(objects)
  foreach(library ${ARGN})
    list(APPEND objects $<TARGET_OBJECTS:${library}>)
  endforeach()
  add_library(${name} SHARED ${objects})
  set_target_properties(${name} PROPERTIES LINKER_LANGUAGE C LINK_DEPENDS ${script})
  target_link_options(${name} PRIVATE ${HEAPSONDE_TARGET_LINK_OPTIONS} -Wl,--version-script=${script})
  target_link_libraries(${name} PRIVATE -lgcc)
endfunction()

# heapsonde_shim(NAME VERSION_SCRIPT OBJECT_LIBRARIES...): the same of what heapsonde_target_objects() made for the shims.
function(heapsonde_shim name script)
  set(libraries ${ARGN})
  list(TRANSFORM libraries APPEND _shim)
  heapsonde_target_library(${name} ${script} ${libraries})
  target_link_options(${name} PRIVATE ${HEAPSONDE_SHIM_OPTIONS} ${HEAPSONDE_SHIM_LINK_OPTIONS} ${HEAPSONDE_LINK_TIME_OPTIONS})
endfunction()
