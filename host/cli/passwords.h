// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Passwords in addresses of the command line: everybody on the machine can list the arguments of processes.
#ifndef HEAPSONDE_HOST_CLI_PASSWORDS_H
#define HEAPSONDE_HOST_CLI_PASSWORDS_H

// Arguments with SCHEME://USER:PASSWORD@ are replaced by copies, and lists of processes show the passwords as x from
// then on. The copies live as long as the process.
void hs_passwords__hide(int argc, char **argv);

#endif
