# SPDX-License-Identifier: MIT
"""Words that the tools print on any machine, and that a machine or a user may be called.

Of four characters or more, in small letters, hexadecimal numbers left out. A test holds every word of
every sample that parse() reads to be here.
"""

_WORDS = """
access acquire acquired activity actual actually address after allocation allocations amean attributes
available average balance base because behavior bins bitmap blames block blocks boot bound branch
branches bread brelse btrfs build built builtin byte bytes cache call callchain callee caller cannot
capabilities caused centos changed child clat clients clock close closes collect collection comm command
commit commits common complete completion concurrently config consider container containers contended
contention context controllers core count counter cpus creat create creating creation creations cross
cstime cutime cycles data debian debug default delayed deleted depth dest destroy device difference
directories directory dirent dirty disk down dquot drop duration during elapsed elsp enable encrypted
entries entry error errors event events evict exceeded exit ext4 extended falloc fallocate fallocate2
false faults fedora file filecreate filedelete filename filenum files filesize filestat filesystem filp
find finish finished first flag forked format found frags free from fsload ftrace func funccost function
futex getblk global group groupid groups guest handle handler head header heavy here histogram hits
hmean home host huawei hwframe idle ihold iloc inconsistency ineligible info init inode inodes
instructions insufficient invalid iodepth ioengine iops iput irqentry irqsave items iteration iterations
jbd2 jobname jobnum jobs journal journalling just kallsyms kbytes kernbench kernel kthread kunpeng
latency launched ldiskfs level libc lifetime limit line linear link linux list located lock locked
lockless lockscale long looking lookup loop loops lustre main majf mark maximum mballoc mdt0000 mdt0001
mdtest mean measurement memory memset merges metadata metric microbenchmark migrations minf minute
misses mode module modules monotonic most msec name netperf newidle node nodemap nohz nondir nrfiles
number numbers numblks numjobs objects observation octave open openat openat2 openfiles operation
operations optim optimize options orig orphan output overhead page pages pair pairs parallel parent
patch patched path pcnt percent percentile perf phase phases pinned please pollwake print proc process
processes procs program projected psync python3 qemu queue queued quota ramdisk randrw range rank ranks
rate read ready reaim reasons received recently reclaimable reduce release removal remove rename renamed
reporting reserve resetpcpu resize result retry rocky root running runs runtime rwsem samples sata save
saverankperformancedetails scale scan sched schedule scratch sda1 search searches second seconds sectors
separate sequence server session sha256 short showrankstatistics shrinker shrunk size skel slat slowest
slowpath softirqs some spin spinlock stack stacktrace start started starting stat stats stddev stress
submit such summary supported survey swap switch switches symbol symbols symsrc sync syscall sysfs syst
system systime target task tasks test testcase testing tests thread threads thrhi thrlo thus tick ticks
time timer timers times timestamp tmpfs tool tools total tree trim true truncate truncating trusted
turned type ubuntu unit unknown unlink unlinkat unlock update usage used user using util utilized utime
v1r1 value vanilla variance vdso version vmlinux wait wake warm warmup warning while will window with
without worker workers workfile workload write xattr xeon
"""

TOOL_WORDS = frozenset(_WORDS.split())
