# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Writes the bytes of INPUT as the C array NAME into the header OUTPUT.
file(READ ${INPUT} bytes HEX)
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
file(WRITE ${OUTPUT} "static const unsigned char ${NAME}[] = {${bytes}};\n")
