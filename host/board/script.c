// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/board/script.h"

#include "host/board/words.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- keep ----------------------------------------------------------------------------------------------------------

static const char greeting[] = "LC_ALL=C; export LC_ALL; umask 077\n"
                               "say() { printf \"%s\\n\" \"$*\"; }\n"
                               "say heapsonde-board 1\n"
                               "say kernel \"$(uname -s) $(uname -r)\"\n"
                               "say machine \"$(uname -m)\"\n"
                               "say user \"$(id -u)\"\n";

// Not 'command -v', which also finds shell builtins. dd and test follow symbolic links.
static const char find_program[] = "find_in_path() { IFS=:; for c in $PATH; do\n"
                                   "  if [ -f \"$c/$1\" ] && [ -x \"$c/$1\" ]; then f=$c/$1; break; fi\n"
                                   "done; unset IFS; }\n"
                                   "f=$p; case $p in */*) ;; *) f=; find_in_path \"$p\" ;; esac\n"
                                   "p=$f\n";

// $i becomes the program that the kernel runs for $p. If env runs it, the recorder would record env: it is named to be
// started in place of env.
static const char find_interpreter[] =
    "is_script() { [ -f \"$i\" ] && [ \"$(dd if=\"$i\" bs=2 count=1 2>/dev/null)\" = \"#!\" ]; }\n"
    "interpret() {\n"
    "  IFS= read -r l <\"$i\"; set -f; set -- ${l#??}; set +f\n"
    "  e=$i; i=$1; case $1 in env|*/env) ;; *) return ;; esac\n"
    "  case $2 in \"\"|-*|*=*) return ;; esac\n"
    "  if [ -n \"$3\" ] || [ \"$e\" != \"$p\" ]; then return; fi\n"
    "  f=$2; case $f in */*) ;; *) f=; find_in_path \"$2\" ;; esac\n"
    "  i=${f:-$2}; say instead \"$i\"\n"
    "}\n"
    "i=$p n=0\n"
    "while [ \"$n\" -lt 4 ] && [ -r \"$i\" ] && is_script 2>/dev/null; do interpret; n=$((n + 1)); done\n"
    "[ \"$n\" -eq 0 ] || say interpreter \"$i\"\n";

static const char look_at_program[] = "say program \"$p\"\n"
                                      "if [ ! -e \"$p\" ]; then say state missing\n"
                                      "elif [ -d \"$p\" ]; then say state folder\n"
                                      "elif [ ! -x \"$p\" ]; then say state not-executable\n"
                                      "elif [ ! -x \"$i\" ]; then say state no-interpreter\n"
                                      "elif [ -u \"$i\" ] && [ ! -O \"$i\" ]; then say state set-uid\n"
                                      "elif [ ! -r \"$i\" ]; then say state unreadable\n"
                                      "else say state good; fi\n";

// Running a small script shows whether the file system is mounted noexec.
static const char make_folder[] =
    "d=\n"
    "no() { say refused \"$1\" \"$2\"; [ -z \"$t\" ] || rm -rf \"$t\"; t=; }\n"
    "for c in \"$@\"; do\n"
    "  t=; case $c in /*) ;; *) continue ;; esac\n"
    "  case $c in *[:\\ \\']*) no \"$c\" name; continue ;; esac\n"
    "  if [ ! -d \"$c\" ]; then no \"$c\" absent; continue; fi\n"
    "  if ! mkdir \"$c/$nonce\" 2>/dev/null; then no \"$c\" read-only; continue; fi\n"
    "  t=$c/$nonce\n"
    "  if ! { printf \"#!%s\\nexit 0\\n\" \"$(command -v sh)\" >\"$t/x\"; } 2>/dev/null || [ ! -s \"$t/x\" ]; then\n"
    "    no \"$c\" full; continue; fi\n"
    "  chmod 700 \"$t/x\"\n"
    "  if ! \"$t/x\" 2>/dev/null; then no \"$c\" noexec; continue; fi\n"
    "  f=$(df -Pk \"$t\" 2>/dev/null | { read -r a; read -r a b c2 f e; printf %s \"$f\"; })\n"
    "  case $f in \"\"|*[!0-9]*) f=$need ;; esac\n"
    "  if [ \"$f\" -lt \"$need\" ]; then no \"$c\" \"$f\"; continue; fi\n"
    "  rm -f \"$t/x\"; d=$t; break\n"
    "done\n"
    "say folder \"$d\"\n"
    "if [ -n \"$d\" ] && { mkfifo \"$d/trace\" || mknod \"$d/trace\" p; } 2>/dev/null; then say stream yes\n"
    "else say stream no; fi\n";

static const char show_program[] = "if [ -f \"$i\" ] && [ -r \"$i\" ]; then\n"
                                   "  n=$(wc -c <\"$i\"); n=$((n)); [ \"$n\" -le 65536 ] || n=65536\n"
                                   "  say bytes \"$n\"; dd if=\"$i\" bs=4096 count=16 2>/dev/null\n"
                                   "else say bytes 0; fi\n";

// Opening the pipe for reading and writing releases a process that waits for the other end.
static const char let_go[] = "say ready\n"
                             "cat >/dev/null\n"
                             "[ -n \"$d\" ] || { say status none; exit 0; }\n"
                             "s=none\n"
                             "if [ -r \"$d/status\" ]; then read -r s <\"$d/status\"\n"
                             "elif [ -r \"$d/pid\" ]; then read -r k <\"$d/pid\"; kill -HUP \"$k\" 2>/dev/null; fi\n"
                             "if [ -p \"$d/trace\" ]; then : <>\"$d/trace\"; fi\n"
                             "rm -rf \"$d\"\n"
                             "say status \"$s\"\n";

char *hs_board_script__keep(const struct hs_board_wish *wish)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return NULL;
    fputs(greeting, out);
    fputs("p=", out);
    hs_words__quote(out, wish->program ? wish->program : "");
    fprintf(out, "\nneed=%u nonce=heapsonde-%s\nset -- ", wish->need_kib, wish->nonce);
    if (wish->folder)
        hs_words__quote(out, wish->folder);
    else
        fputs("\"$TMPDIR\" /tmp /var/tmp /dev/shm /run /data/local/tmp \"$HOME\"", out);
    fputs("\n", out);
    if (wish->program) {
        fputs(find_program, out);
        fputs(find_interpreter, out);
        fputs(look_at_program, out);
    }
    fputs(make_folder, out);
    if (wish->program)
        fputs(show_program, out);
    fputs(let_go, out);
    fclose(out);
    return text;
}

// ---- the others ----------------------------------------------------------------------------------------------------

char *hs_board_script__send(const char *folder, size_t size)
{
    char *text = NULL;
    int length = asprintf(
        &text, "umask 077; cd '%s' && cat >" HS_BOARD_LIBRARY " && [ \"$(($(wc -c <" HS_BOARD_LIBRARY ")))\" -eq %zu ]",
        folder, size);
    return length < 0 ? NULL : text;
}

char *hs_board_script__trace(const char *folder)
{
    char *text = NULL;
    int length = asprintf(&text, "cd '%s' && echo ready && { cat pid && exec cat; } <trace", folder);
    return length < 0 ? NULL : text;
}

// A shell reports on standard error which signal ended a command; the program's standard error must not contain that.
static char *with_quiet_shell(char *script)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = script ? open_memstream(&text, &size) : NULL;
    if (out) {
        fputs("exec sh -c ", out);
        hs_words__quote(out, script);
        fputs(" 3>&2 2>/dev/null", out);
        fclose(out);
    }
    free(script);
    return text;
}

// The inner shell writes its own process number, because the program replaces it. Opening the pipe at the end releases
// the reader if the program was never started.
char *hs_board_script__run(const char *folder, char *const *variables, char *const *words, size_t program)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return NULL;
    fprintf(out,
            "d='%s'\n"
            "sh -c 'umask 077; echo $$ >\"$0/pid\" && umask \"$1\" && exec 9>\"$0/trace\" && shift && exec \"$@\" 2>&3 "
            "3>&-' "
            "\"$d\" \"$(umask)\"",
            folder);
    for (size_t i = 0; i < program; i++) {
        putc(' ', out);
        hs_words__quote(out, words[i]);
    }
    fputs(" env", out);
    for (size_t i = 0; variables[i]; i++) {
        putc(' ', out);
        hs_words__quote(out, variables[i]);
    }
    fputs(" \"LD_PRELOAD=$d/" HS_BOARD_LIBRARY "${LD_PRELOAD:+:$LD_PRELOAD}\"", out);
    for (size_t i = program; words[i]; i++) {
        putc(' ', out);
        hs_words__quote(out, words[i]);
    }
    fputs("\ns=$?\necho $s >\"$d/status\"\n: <>\"$d/trace\"\nexit $s\n", out);
    fclose(out);
    return with_quiet_shell(text);
}

char *hs_board_script__signal(const char *folder, int signal)
{
    char *text = NULL;
    const char *name = sigabbrev_np(signal);
    int length = asprintf(&text, "cd '%s' && [ ! -e status ] && read -r k <pid && kill -%s \"$k\"", folder,
                          name ? name : "TERM");
    return length < 0 ? NULL : text;
}
