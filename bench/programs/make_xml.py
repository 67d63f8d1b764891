# SPDX-License-Identifier: MIT OR Apache-2.0
"""Writes a large XML file: make_xml.py FILE ENTRIES"""
import sys

with open(sys.argv[1], "w", encoding="utf-8") as out:
    out.write("<?xml version='1.0'?>\n<catalogue>\n")
    for i in range(int(sys.argv[2])):
        out.write(
            f"  <entry id='e{i}' kind='k{i % 17}'>\n    <title>Title number {i}</title>\n"
            f"    <price currency='EUR'>{i * 7 % 1000}.{i % 100:02}</price>\n"
            f"    <note>Some <b>marked</b> text with &amp; and &lt; in entry {i * 7919}</note>\n  </entry>\n"
        )
    out.write("</catalogue>\n")
