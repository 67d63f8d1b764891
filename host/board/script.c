// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/board/script.h"

#include "host/base/text_stream.h"
#include "host/board/words.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- keep ----------------------------------------------------------------------------------------------------------

// They are sent without the indentation.
static const char greeting[] = "export LC_ALL=C; umask 077\n"
                               "say() { printf \"%s\\n\" \"$*\"; }\n"
                               "say heapsonde-board 1\n"
                               "say kernel \"$(uname -sr)\"\n"
                               "say machine \"$(uname -m)\"\n"
                               "say user $(id -u)\n";

// $f becomes the path of a program. Not 'command -v', which also finds shell builtins. dd and test follow symbolic
// links.
static const char find_program[] = "seek() {\n"
                                   "  f=$1; case $f in */*) return ;; esac\n"
                                   "  f=; IFS=:; for c in $PATH; do\n"
                                   "    if [ -f \"$c/$1\" ] && [ -x \"$c/$1\" ]; then f=$c/$1; break; fi\n"
                                   "  done; unset IFS\n"
                                   "}\n"
                                   "seek \"$p\"; p=$f\n";

// $i becomes the program that the kernel runs for $p. If env runs it, the recorder would record env: it is named to be
// started in place of env. Some shells complain about the zeros of a program that is no script.
static const char find_interpreter[] =
    "interpret() {\n"
    "  IFS= read -r l <\"$i\"; set -f; set -- ${l#??}; set +f\n"
    "  e=$i; i=$1; case $1 in env|*/env) ;; *) return ;; esac\n"
    "  case $2 in \"\"|-*|*=*) return ;; esac\n"
    "  if [ -n \"$3\" ] || [ \"$e\" != \"$p\" ]; then return; fi\n"
    "  seek \"$2\"; i=${f:-$2}; say instead \"$i\"\n"
    "}\n"
    "i=$p n=0\n"
    "while [ $n -lt 4 ] && [ -f \"$i\" ] && [ -r \"$i\" ] &&\n"
    "  { [ \"$(dd if=\"$i\" bs=2 count=1)\" = \"#!\" ]; } 2>/dev/null; do interpret; n=$((n + 1)); done\n"
    "[ $n -eq 0 ] || say interpreter \"$i\"\n";

static const char look_at_program[] = "say program \"$p\"\n"
                                      "s=good\n"
                                      "if [ ! -e \"$p\" ]; then s=missing\n"
                                      "elif [ -d \"$p\" ]; then s=folder\n"
                                      "elif [ ! -x \"$p\" ]; then s=not-executable\n"
                                      "elif [ ! -x \"$i\" ]; then s=no-interpreter\n"
                                      "elif [ -u \"$i\" ] && [ ! -O \"$i\" ]; then s=set-uid\n"
                                      "elif [ ! -r \"$i\" ]; then s=unreadable; fi\n"
                                      "say state $s\n";

static const char look_at_process[] = "s=good\n"
                                      "if [ ! -d \"/proc/$pid\" ]; then s=missing\n"
                                      "elif [ ! -r \"$p\" ]; then s=unreadable; fi\n"
                                      "say state $s\n"
                                      "i=$p\n";

// Running a small script shows whether the file system is mounted noexec. A folder without named pipes is taken only if
// there is no other; there the traces go into a file.
static const char make_folder[] =
    "d= r= s=yes\n"
    "no() { say refused \"$c\" \"$1\"; [ -z \"$t\" ] || rm -rf \"$t\"; false; }\n"
    "pipes() { mkfifo trace end || { mknod trace p && mknod end p; }; }\n"
    "for c in \"$@\"; do\n"
    "  t=; case $c in /*) ;; *) continue ;; esac\n"
    "  case $c in *[:\\ \\']*) no name || continue ;; esac\n"
    "  [ -d \"$c\" ] || no absent || continue\n"
    "  mkdir \"$c/$nonce\" 2>/dev/null || no read-only || continue\n"
    "  t=$c/$nonce\n"
    "  if [ -n \"$pid\" ] && [ -d \"/proc/$pid/root/.\" ] && [ ! -d \"/proc/$pid/root$t\" ]; then\n"
    "    no unseen || continue; fi\n"
    "  { printf \"#!%s\\nexit 0\\n\" \"$(command -v sh)\" >\"$t/x\"; } 2>/dev/null && [ -s \"$t/x\" ] ||\n"
    "    no full || continue\n"
    "  chmod 700 \"$t/x\"\n"
    "  \"$t/x\" 2>/dev/null || no noexec || continue\n"
    "  f=$(df -Pk \"$t\" 2>/dev/null | { read -r a; read -r a a a f a; printf %s \"$f\"; })\n"
    "  case $f in \"\"|*[!0-9]*) f=$need ;; esac\n"
    "  [ \"$f\" -ge $need ] || no $f || continue\n"
    "  rm -f \"$t/x\"\n"
    "  if (cd \"$t\" && pipes) 2>/dev/null; then d=$t; break; fi\n"
    "  if [ -n \"$r\" ]; then rm -rf \"$t\"; else r=$t; fi\n"
    "done\n"
    "if [ -n \"$d\" ]; then [ -z \"$r\" ] || rm -rf \"$r\"\n"
    "elif [ -n \"$r\" ]; then d=$r s=no; rm -f \"$d/trace\" \"$d/end\"; : >\"$d/trace\"; fi\n"
    "say folder \"$d\"\n"
    "say stream $s\n";

static const char show_program[] = "if [ -f \"$i\" ] && [ -r \"$i\" ]; then\n"
                                   "  n=$(wc -c <\"$i\"); n=$((n)); [ $n -le 65536 ] || n=65536\n"
                                   "  say bytes $n; dd if=\"$i\" bs=4096 count=16 2>/dev/null\n"
                                   "else say bytes 0; fi\n";

static const char look_for_names[] = "look() {\n"
                                     "  for p; do for f in /tmp/perf-$p.map /tmp/jit-$p.dump ./jit-$p.dump "
                                     "\"${JITDUMPDIR:-$HOME}\"/.debug/jit/*/jit-$p.dump; do\n"
                                     "    [ ! -e \"$f\" ] || { say names yes; return; }\n"
                                     "  done; done; say names no\n"
                                     "}\n";

// Opening the pipe for reading and writing releases a process that waits for the other end. It stays open until the
// name is gone: a process that comes in between must not wait for ever. What is still written by that name would
// otherwise come into the folder while rm empties it. -T: others may have made the new name, as a folder or a link;
// then, and where mv has no -T, the folder keeps its name.
static const char let_go[] = "say ready\n"
                             "while read -r x; do look $x; done\n"
                             "[ -n \"$d\" ] || { say status none; exit 0; }\n"
                             "s=none\n"
                             "if [ -r \"$d/status\" ]; then read -r s <\"$d/status\"\n"
                             "elif [ -r \"$d/pid\" ]; then read -r k <\"$d/pid\"; kill -HUP \"$k\" 2>/dev/null; fi\n"
                             "if [ -p \"$d/trace\" ]; then exec 7<>\"$d/trace\"; echo cut 1<>\"$d/end\"; fi\n"
                             "mv -T \"$d\" \"$d.old\" 2>/dev/null && d=$d.old; rm -rf \"$d\" || rm -rf \"$d\"\n"
                             "say status \"$s\"\n";

static void put_lines(FILE *out, const char *lines)
{
    for (; *lines; lines++) {
        putc(*lines, out);
        if (*lines == '\n')
            lines += strspn(lines + 1, " ");
    }
}

char *hs_board_script__keep(const struct hs_board_wish *wish)
{
    struct hs_text_stream stream;
    FILE *out = hs_text_stream__open(&stream);
    if (!out)
        return NULL;
    put_lines(out, greeting);
    fputs("pid= p=", out);
    hs_words__quote(out, wish->program ? wish->program : "");
    if (wish->pid)
        fprintf(out, "\npid=%d p=/proc/%d/exe", (int)wish->pid, (int)wish->pid);
    fprintf(out, "\nneed=%u nonce=heapsonde-%s\nset -- ", wish->need_kib, wish->nonce);
    if (wish->folder)
        hs_words__quote(out, wish->folder);
    else
        fputs("\"$TMPDIR\" /tmp /var/tmp /dev/shm /run /data/local/tmp \"$HOME\"", out);
    fputs("\n", out);
    if (wish->program) {
        put_lines(out, find_program);
        put_lines(out, find_interpreter);
        put_lines(out, look_at_program);
    }
    if (wish->pid)
        put_lines(out, look_at_process);
    put_lines(out, make_folder);
    if (wish->program || wish->pid)
        put_lines(out, show_program);
    put_lines(out, look_for_names);
    put_lines(out, let_go);
    return hs_text_stream__close(&stream);
}

// ---- the others ----------------------------------------------------------------------------------------------------

char *hs_board_script__send(const char *folder, const char *name, size_t size)
{
    char *text = NULL;
    int length = asprintf(&text, "umask 077; f=%s; cd '%s' && cat >$f && [ $(($(wc -c <$f))) -eq %zu ] && chmod 700 $f",
                          name, folder, size);
    return length < 0 ? NULL : text;
}

static const char read_pipe[] = "{ cat pid && cat; } <trace; [ ! -p end ] || echo all 1<>end";

// Complete when the program has ended and no process has the file open any more; a trace that is written on has no end.
static const char read_file[] = "while [ -e $f ]; do\n"
                                "if [ -e status ]; then case $(ls -l /proc/[0-9]*/fd 2>/dev/null) in\n"
                                "*\"${PWD##*/}/trace\"*) ;; *) cat pid trace; break ;; esac; fi\n"
                                "sleep 1\ndone";

// The program's shell waits until the pipe is opened here, and does not start the program if the library is not there.
char *hs_board_script__trace(const char *folder, size_t size)
{
    char *sending = hs_board_script__send(folder, HS_BOARD_LIBRARY, size), *text = NULL;
    int length = sending ? asprintf(&text,
                                    "{ %s; } || { rm -f $f; : <>trace; : >go; exit 1; }\n"
                                    ": >go; echo ready; if [ -p trace ]; then %s; else %s; fi",
                                    sending, read_pipe, read_file)
                         : -1;
    free(sending);
    return length < 0 ? NULL : text;
}

// A shell reports on standard error which signal ended a command; the program's standard error must not contain that.
static char *in_quiet_group(char *script)
{
    struct hs_text_stream stream;
    if (!script)
        return NULL;
    FILE *out = hs_text_stream__open(&stream);
    if (out)
        fprintf(out, "{ %s} 3>&2 2>/dev/null", script);
    free(script);
    return hs_text_stream__close(&stream);
}

static void put_words(FILE *out, char *const *words)
{
    for (size_t i = 0; words[i]; i++) {
        putc(' ', out);
        hs_words__quote(out, words[i]);
    }
}

static void put_folder(FILE *out, const char *folder)
{
    fputs("d=", out);
    hs_words__quote(out, folder);
    putc('\n', out);
}

// The inner shell writes its own process number, because the program replaces it. Opening the pipe at the end releases
// the reader if the program was never started. If the shell is the first process of a namespace, or the first one's
// only child, the kernel ends all others with it: it waits until the rest of the traces was read. 8 is the pipe that
// says so. 9 keeps the trace open until the program has opened it; Korn shells keep to themselves what exec alone
// opened.
char *hs_board_script__run(const char *folder, char *const *variables, const char *more, char *const *words,
                           size_t program)
{
    struct hs_text_stream stream;
    FILE *out = hs_text_stream__open(&stream);
    if (!out)
        return NULL;
    put_folder(out, folder);
    fputs("if [ -p \"$d/end\" ]; then exec 8<>\"$d/end\"\n"
          "else while [ -d \"$d\" ] && [ ! -e \"$d/go\" ]; do sleep 1; done; fi\n"
          "sh -c 'umask 077; echo $$ >\"$0/pid\" && umask $1 && exec 9>>\"$0/trace\" && "
          "[ -e \"$0/" HS_BOARD_LIBRARY "\" ] && shift && exec \"$@\" 2>&3 3>&- 8>&- 9>>\"$0/trace\"' \"$d\" $(umask)",
          out);
    for (size_t i = 0; i < program; i++) {
        putc(' ', out);
        hs_words__quote(out, words[i]);
    }
    fputs(" env", out);
    put_words(out, variables);
    fputs(more, out);
    fputs(" \"HEAPSONDE_CONNECT=$d/trace\" \"LD_PRELOAD=$d/" HS_BOARD_LIBRARY "${LD_PRELOAD:+:$LD_PRELOAD}\"", out);
    put_words(out, words + program);
    fputs("\ns=$?\necho $s >\"$d/status\"\n: <>\"$d/trace\"\n"
          "if [ -p \"$d/end\" ] && { [ $$ -eq 1 ] || [ \"$PPID\" -eq 1 ]; }; then read -r x <&8; fi\nexit $s\n",
          out);
    return in_quiet_group(hs_text_stream__close(&stream));
}

// What reads the pipe waits for a process number, which is known here, and for the end of the recording: 9 is open
// until then. If heapsonde-attach is killed, nobody else ends the recording.
char *hs_board_script__attach(const char *folder, char *const *variables, char *const *words)
{
    struct hs_text_stream stream;
    FILE *out = hs_text_stream__open(&stream);
    if (!out)
        return NULL;
    put_folder(out, folder);
    fputs("[ -p \"$d/end\" ] || while [ -d \"$d\" ] && [ ! -e \"$d/go\" ]; do sleep 1; done\n"
          "umask 077; : >\"$d/pid\" && exec 9>>\"$d/trace\" && [ -e \"$d/" HS_BOARD_LIBRARY "\" ] || exit 126\n"
          "env",
          out);
    put_words(out, variables);
    fputs(" \"$d/" HS_BOARD_ATTACH "\" --pipe \"$d/trace\" --library \"$d/" HS_BOARD_LIBRARY "\" --until-input-ends",
          out);
    put_words(out, words);
    fputs(" 2>&3 3>&- 9>&-\ns=$?\n[ $s -le 2 ] || \"$d/" HS_BOARD_ATTACH "\" -q --detach", out);
    put_words(out, words + hs_words__count(words) - 1);
    fputs(" 3>&- 9>&-\necho $s >\"$d/status\"\necho done\nread -r x\nexit $s\n", out);
    return in_quiet_group(hs_text_stream__close(&stream));
}

char *hs_board_script__detach(const char *folder, char *const *words)
{
    struct hs_text_stream stream;
    FILE *out = hs_text_stream__open(&stream);
    if (!out)
        return NULL;
    fprintf(out, "exec '%s/" HS_BOARD_ATTACH "' --detach", folder);
    put_words(out, words);
    return hs_text_stream__close(&stream);
}

char *hs_board_script__names(const char *folder, const char *list)
{
    char *text = NULL;
    return asprintf(&text, "exec '%s/" HS_BOARD_ATTACH "' --names '%s'", folder, list) < 0 ? NULL : text;
}

char *hs_board_script__signal(const char *folder, int signal)
{
    char *text = NULL;
    const char *name = sigabbrev_np(signal);
    int length = asprintf(&text, "cd '%s' || exit; [ ! -e status ] || exit %d; read -r k <pid && kill -%s \"$k\"",
                          folder, HS_BOARD_HAS_ENDED, name ? name : "TERM");
    return length < 0 ? NULL : text;
}
