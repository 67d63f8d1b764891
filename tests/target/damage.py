# SPDX-License-Identifier: MIT OR Apache-2.0
"""The parts of programs that tests of damage change."""
import struct

TABLES = (b".ARM.exidx", b".ARM.extab", b".pdr", b".eh_frame", b".eh_frame_hdr", b".debug_frame", b".symtab")
PT_GNU_EH_FRAME, PT_ARM_EXIDX = 0x6474E550, 0x70000001
SHT_SYMTAB = 2


class Image:
    """The parts of an ELF file that may be damaged and leave a program that the loader runs."""

    def __init__(self, data):
        self.data = data
        self.order = "<" if data[5] == 1 else ">"
        wide = data[4] == 2
        address, places = ("Q", (32, 40, 54)) if wide else ("I", (28, 32, 42))
        segments, sections = (self.read(address, at) for at in places[:2])
        self.header_fields = [(places[1], 8 if wide else 4)] + [(places[2] + 4 + 2 * i, 2) for i in range(3)]
        segment_size, segment_count, self.section_size, section_count, names = (
            self.read("H", places[2] + 2 * i) for i in range(5))
        self.segments = [(segments + i * segment_size, segment_size) for i in range(segment_count)
                         if self.read("I", segments + i * segment_size) in (PT_GNU_EH_FRAME, PT_ARM_EXIDX)]
        self.sections = [sections + i * self.section_size for i in range(section_count)]
        offset, size, link = (24, 32, 40) if wide else (16, 20, 24)
        symbols = [at for at in self.sections if self.read("I", at + 4) == SHT_SYMTAB]
        self.symbols = symbols + [self.sections[self.read("I", at + link)] for at in symbols]
        strings = self.read(address, self.sections[names] + offset)
        self.tables = {}
        for section in self.sections:
            start = strings + self.read("I", section)
            name = bytes(data[start:data.index(0, start)])
            if name in TABLES:
                self.tables[name] = (self.read(address, section + offset), self.read(address, section + size))

    def read(self, kind, at):
        return struct.unpack_from(self.order + kind, self.data, at)[0]

    def write(self, kind, at, value):
        struct.pack_into(self.order + kind, self.data, at, value)
