# SPDX-License-Identifier: MIT
"""The shell scripts that run on the server, POSIX sh with util-linux's setsid and flock.

A job is a folder with a number in its session's folder. The rename to that number is the one moment
at which the job starts, so a start that is repeated, or that comes late, starts nothing: rename(2)
replaces no folder that holds a file. Once its results have arrived, the folder stays with the file
`over` until the session ends. Who waits sleeps in flock(1): the server does nothing while a job runs,
and a supervisor that is killed wakes him too.
"""

import shlex

NEEDS = ("setsid", "flock", "head", "wc", "find", "touch", "mktemp", "mv", "sha256sum", "stat")
"""The commands that the scripts and the transfer of files need."""

# $1 job folder, $2 seconds. Runs in no session of a login, and where systemd is in a scope of its own.
SUPERVISE = """\
cd "$1" || exit 1
exec 9>> ../lock
flock 9
(set -C; : > started) 2> /dev/null || exit 0
setsid sh ./steps < /dev/null > log 2>&1 9>&- &
work=$!
echo "$work" > work
setsid sh -c 'sleep "$1"; [ -e done ] || { : > late; exec sh ../end "$2"; }' sh "$2" "$work" \\
    < /dev/null > /dev/null 2>&1 9>&- &
watch=$!
wait "$work"
if [ -e late ]; then wait "$watch"
else kill -s KILL -- "-$watch" || kill -s KILL "$watch"; fi 2> /dev/null
: > done
"""

# $1 session: every process in it, whatever its group. Those that ignore TERM get KILL after 5 s.
END = """\
session=$1
members() {
    for stat in /proc/[0-9]*/stat; do
        { read -r line < "$stat"; } 2> /dev/null || continue
        pid=${stat#/proc/}
        set -- ${line##*) }
        [ "$4" = "$session" ] && [ "$1" != Z ] && echo "${pid%/stat}"
    done
}
kill -TERM $(members) 2> /dev/null
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25; do
    [ "$(members)" ] || exit 0
    sleep 0.2
done
kill -KILL $(members) 2> /dev/null
"""

_BOOT_ID = '"$(cat /proc/sys/kernel/random/boot_id)"'

# $1 room, $2 session. Says `open BOOT_ID`, `missing TOOL` or `full`. A day-old session of nobody goes.
OPEN = f"""\
umask 077
for tool in {shlex.join(NEEDS)}; do
    command -v "$tool" > /dev/null || {{ echo "missing $tool"; exit; }}
done
mkdir -p "$1" && mkdir "$1/$2" && : > "$1/$2/lock" || {{ echo full; exit; }}
printf %s {shlex.quote(SUPERVISE)} > "$1/$2/supervise" &&
    printf %s {shlex.quote(END)} > "$1/$2/end" || {{ echo full; exit; }}
find "$1" -mindepth 1 -maxdepth 1 -type d -mmin +1440 -exec sh -c 'flock -n "$1/lock" rm -rf "$1"' sh {{}} ";"
echo open {_BOOT_ID}
"""

# $1 session folder, $2 job, $3 boot id, $4 seconds, $5 bytes of steps on stdin, $6 number of steps.
# Says one word, or `done LATE`, and then for each step `STATUS OUT_BYTES ERR_BYTES`, its output and
# its errors; a line on stdin says that they have arrived.
RUN = f"""\
say() {{ echo "$1"; exit; }}
umask 077
[ {_BOOT_ID} = "$3" ] || say rebooted
cd "$1" 2> /dev/null && touch . || say gone
new=$(mktemp -d ./new.XXXXXXXX) || say full
{{ head -c "$5" > "$new/steps"; }} 2> /dev/null || {{ rm -rf "$new"; say full; }}
[ "$(wc -c < "$new/steps")" -eq "$5" ] || {{ rm -rf "$new"; say cut; }}
if mv -T "$new" "$2" 2> /dev/null; then
    setsid sh -c '
        [ -d /run/systemd/system ] && systemd-run --quiet --scope --collect --property=TasksMax=infinity \\
            sh "$0" "$@" || exec sh "$0" "$@"' "$1/supervise" "$1/$2" "$4" < /dev/null > /dev/null 2>&1 &
else
    rm -rf "$new"
    [ -d "$2" ] || say full
fi
[ ! -e "$2/over" ] || say over
tries=0
until [ -e "$2/done" ]; do
    was=; [ -e "$2/started" ] && was=1
    flock lock true
    [ -e "$2/done" ] && break
    [ -z "$was" ] && tries=$((tries + 1)) && [ "$tries" -lt 3000 ] && sleep 0.03 && continue
    [ -e "$2/work" ] && read -r work < "$2/work" && sh ./end "$work"
    say died
done
cd "$2"
size() {{ if [ -e "$1" ]; then wc -c < "$1"; else echo 0; fi; }}
echo "done $([ -e late ] && echo late)"
step=0
while [ "$step" -lt "$6" ]; do
    status=; [ -e "$step.status" ] && read -r status < "$step.status"
    out=$(size "$step.out") err=$(size "$step.err")
    echo "${{status:--}}" $out $err
    [ "$out" -eq 0 ] || head -c "$out" "$step.out"
    [ "$err" -eq 0 ] || head -c "$err" "$step.err"
    step=$((step + 1))
done
read -r arrived && : > over && for file in *; do [ "$file" = over ] || rm -f "$file"; done
"""

# $1 session folder, $2 job. `over` keeps a start that is still under way from starting.
CANCEL = """\
cd "$1" 2> /dev/null && new=$(mktemp -d ./new.XXXXXXXX) && : > "$new/over" || exit 0
mv -T "$new" "$2" 2> /dev/null && exit 0
rm -rf "$new"
for i in 1 2 3 4 5 6 7 8 9 10; do [ -e "$2/work" ] && break; sleep 0.2; done
[ -e "$2/done" ] || { read -r work < "$2/work" && sh ./end "$work"; }
"""

# $1 room, $2 session that is spared. Ends the jobs that run in all others and says how many they were.
END_OTHERS = """\
ended=0
for lock in "$1"/*/lock; do
    folder=${lock%/lock}
    [ -e "$lock" ] && [ "$folder" != "$1/$2" ] && ! flock -n "$lock" true || continue
    ended=$((ended + 1))
    for work in "$folder"/*/work; do
        [ -e "${work%/work}/done" ] || { read -r pid < "$work" && sh "$folder/end" "$pid"; }
    done
done
echo "$ended"
"""

# $1 room, $2 session.
CLOSE = """\
cd /
flock -n "$1/$2/lock" rm -rf "$1/$2"
rmdir "$1" 2> /dev/null
"""

# Runs sftp-server as root; each distribution has it elsewhere.
SFTP = """\
for server in /usr/lib/openssh /usr/libexec/openssh /usr/lib/ssh /usr/libexec /usr/lib/misc; do
    [ -x "$server/sftp-server" ] && echo found && exec "$server/sftp-server"
done
echo missing
"""
