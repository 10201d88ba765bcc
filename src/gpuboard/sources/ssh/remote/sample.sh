# gpuboard-sample [SECONDS [changes]]: say how this machine and its GPUs are doing, again every so many seconds;
# with `changes`, mostly only the lines that are not as the last time.
# It only reads. What can hang (the driver, a disk) is asked by one awk that writes to stdout; while that one is
# silent, a second one says on stderr that the machine itself is well. So at most one nvidia-smi ever waits for
# an answer.
# Here and in the awk files every statement ends with ; so that all of it also works as a single line.
LC_ALL=C;
PATH=$PATH:/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin;
PATH=$PATH:/usr/lib/wsl/lib:/usr/local/nvidia/bin:/opt/bin;
export LC_ALL PATH;
program='@program@';
awk -v interval="${2:-0}" -v part=gpus -v changes="${3:-}" "$program" </dev/null 2>/dev/null &
awk -v interval="${2:-0}" -v part=host -v other="$!" "$program" </dev/null >&2 2>/dev/null;
wait;
