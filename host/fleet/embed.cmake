# SPDX-License-Identifier: MIT OR Apache-2.0
#
# cmake -DINPUT=FILE -DOUTPUT=FILE -DNAME=SYMBOL -P embed.cmake: the file as a C string.
file(READ ${INPUT} bytes HEX)
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1, " bytes "${bytes}")
file(WRITE ${OUTPUT} "#include \"host/fleet/schema.h\"\nconst char ${NAME}[] = {${bytes}0};\n")
