# SPDX-License-Identifier: MIT OR Apache-2.0
include(GNUInstallDirs)
install(FILES README.md CHANGELOG.md LICENSE-APACHE LICENSE-MIT TYPE DOC COMPONENT doc)
install(FILES third_party/bearssl/LICENSE.txt TYPE DOC COMPONENT doc RENAME LICENSE-BearSSL)
install(FILES packaging/licences/Preact.txt TYPE DOC COMPONENT doc RENAME LICENSE-Preact)
install(DIRECTORY docs TYPE DOC COMPONENT doc PATTERN pictures EXCLUDE PATTERN decisions EXCLUDE)
