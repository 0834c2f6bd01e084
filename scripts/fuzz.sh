#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# fuzz.sh DIRECTORY SECONDS PROGRAM…: runs libFuzzer programs, two at a time, each for SECONDS.
#
# DIRECTORY/corpus/NAME   seeds from real files, those of tests/fuzz/corpus (`make fuzz-corpus`), and
#                         libFuzzer's additions; kept for the next run
# DIRECTORY/crashes       former findings, run first every time
# DIRECTORY/NAME.log      output of the program
set -eu

directory=$1 seconds=$2
shift 2
seeds=$directory/seeds
passed=0 failed=0 running=''
mkdir -p "$seeds" "$directory/crashes"
trap 'kill $running 2>/dev/null || true' EXIT
trap 'exit 130' INT TERM

# A small allocator, with unwind information of most kinds in it.
write_source() {
	cat <<'END'
#include <stddef.h>
void *malloc(size_t);
void free(void *);
void *je_malloc(size_t);
void je_free(void *);
static char heap[4096];
static size_t used;
__attribute__((noinline)) static void *take(size_t size)
{
	volatile char scratch[64];
	scratch[size % 64] = 1;
	used += size;
	return heap + used % 4096 - scratch[0] % 2;
}
void *malloc(size_t size) { return size > 4096 ? NULL : take(size); }
void *je_malloc(size_t size) { return size ? take(size) : NULL; }
void *calloc(size_t n, size_t size)
{
	char *zeroed = malloc(n * size);
	for (size_t i = 0; zeroed && i < n * size; i++)
		zeroed[i] = 0;
	return zeroed;
}
void *realloc(void *p, size_t size)
{
	char variable[size % 100 + 1], *moved = take(size);
	for (size_t i = 0; p && i < sizeof(variable); i++)
		variable[i] = moved[i] = ((char *)p)[i];
	return moved + variable[0] % 2;
}
void free(void *p) { if (p) used -= (char *)p - heap; }
void je_free(void *p) { if (p) used--; }
END
}

# Thread-locals, and glibc's description of them.
write_locals() {
	cat <<'END'
static __thread char *mine;
__thread long exported[4] = {1};
char exported_data[64];
void *__nptl_rtld_global = exported_data;
void *get(void) { exported[1]++; return &mine; }
END
	while read -r name bits elements at; do
		echo "const unsigned _thread_db_$name[] = {$bits, $elements, $at};"
	done <<'END'
rtld_global__dl_tls_dtv_slotinfo_list 64 1 4208
dtv_slotinfo_list_len 64 1 0
dtv_slotinfo_list_next 64 1 8
dtv_slotinfo_list_slotinfo 128 0 16
dtv_slotinfo_gen 64 1 0
dtv_slotinfo_map 64 1 8
link_map_l_tls_offset 64 1 1144
pthread_dtvp 64 1 8
dtv_t_pointer_val 64 1 0
dtv_t_counter 64 1 0
sizeof_pthread 2368 0 0
pthread_specific 2048 1 1296
pthread_key_data_data 64 1 8
END
}

# Inlined functions of two files: one line table, calls at several lines.
write_inlines() {
	cat <<'END'
#define INLINED static inline __attribute__((always_inline))
INLINED int innermost(int x) { return x * 3 + (x >> 2); }
INLINED int inner(int x) { int sum = 0; while (x-- > 0) sum += innermost(x); return sum; }
int outer(int x) { return x > 7 ? inner(x) - inner(x + 1) : innermost(x); }
#line 70 "other.h"
INLINED int elsewhere(int x) { return outer(x) ^ innermost(x); }
int last(int x) { return elsewhere(x) + elsewhere(x * 2); }
END
}

# Notes as sys/sdt.h writes them, without it.
write_notes() {
	cat <<'END'
unsigned short semaphore __attribute__((section(".probes")));
#define NOTE(name, arguments) __asm__ volatile("990: nop\n.pushsection .note.stapsdt,\"\",\"note\"\n" \
	".balign 4\n.4byte 992f-991f,994f-993f,3\n991: .asciz \"stapsdt\"\n992: .balign 4\n" \
	"993: .8byte 990b,0,semaphore\n.asciz \"otel_memory\"\n.asciz \"" name "\"\n" \
	".asciz \"" arguments "\"\n994: .balign 4\n.popsection")
void tell(void) { NOTE("alloc", "8@%rdi -4@16(%rsp) 8@$524288"); NOTE("free", "8@8(%rax,%rcx,8)"); }
END
}

# A core of two threads and two files, with all kinds of notes.
make_core_seeds() {
	python3 - "$1/small" <<'END'
import struct, sys
def note(kind, data):
    return struct.pack('<III', 5, len(data), kind) + b'CORE\0\0\0\0' + data + bytes(-len(data) % 4)
paths = b'/bin/a\0/lib/b (deleted)\0'
files = struct.pack('<QQ', 2, 4096) + struct.pack('<QQQ', 0x400000, 0x401000, 0) + \
    struct.pack('<QQQ', 0x402000, 0x403000, 2) + paths
notes = note(3, struct.pack('<24xi12x16s80x', 77, b'name')) + \
    note(1, struct.pack('<32xi300x', 77)) + note(2, bytes(512)) + note(1, struct.pack('<32xi300x', 78)) + \
    note(6, struct.pack('<QQQQ', 9, 0x400010, 31, 0x500010)) + note(0x46494c45, files)
loads = [(0x400000, 4096, 5), (0x402000, 0, 4), (0x500000, 4096, 6)]
offset = 64 + 56 * (len(loads) + 1)
out = struct.pack('<4sBBB9xHHIQQQIHHHHHH', b'\x7fELF', 2, 1, 1, 4, 62, 1, 0, 64, 0, 0, 64, 56,
                  len(loads) + 1, 0, 0, 0)
out += struct.pack('<IIQQQQQQ', 4, 0, offset, 0, 0, len(notes), 0, 4)
at = offset + len(notes)
for address, size, flags in loads:
    out += struct.pack('<IIQQQQQQ', 1, flags, at, address, 0, size, 4096, 1)
    at += size
open(sys.argv[1], 'wb').write(out + notes + b'\x7fELF' + bytes(8188))
END
}

# Shared objects of a few kilobytes: our own in several variants, and the system's smallest.
make_elf_seeds() {
	write_source >"$seeds/source.c"
	cc='gcc -w -shared -fPIC -nostdlib -ffreestanding -Wl,--build-id'
	$cc -O2 -o "$seeds/plain.elf" "$seeds/source.c"
	$cc -O2 -g -o "$seeds/debug.elf" "$seeds/source.c"
	$cc -O1 -g -gz=zlib -fno-omit-frame-pointer -Wl,--hash-style=sysv -o "$seeds/gz.elf" \
		"$seeds/source.c"
	$cc -O0 -mstackrealign -Wl,-z,now -o "$seeds/frames.elf" "$seeds/source.c"
	write_locals >"$seeds/locals.c"
	$cc -O2 -o "$seeds/locals.elf" "$seeds/locals.c"
	write_inlines >"$seeds/inlines.c"
	for version in 4 5; do
		$cc -O2 -g -gdwarf-$version -ffunction-sections -o "$seeds/inlines$version.elf" "$seeds/inlines.c"
	done
	write_notes >"$seeds/notes.c"
	$cc -O2 -fvisibility=hidden -o "$seeds/notes.elf" "$seeds/notes.c"
	strip -o "$seeds/stripped.elf" "$seeds/debug.elf"
	objcopy --only-keep-debug "$seeds/debug.elf" "$seeds/only_debug.elf"
	objcopy --add-gnu-debuglink="$seeds/only_debug.elf" "$seeds/stripped.elf" \
		"$seeds/link.elf"
	xz -c "$seeds/plain.elf" >"$seeds/mini.xz" 2>/dev/null &&
		objcopy --add-section .gnu_debugdata="$seeds/mini.xz" "$seeds/stripped.elf" \
			"$seeds/mini.elf"
	# The parts of the C library that the readers use.
	library=$(gcc -print-file-name=libc.so.6)
	objcopy -j .dynsym -j .dynstr -j .gnu.hash -j .note.gnu.build-id -j .eh_frame \
		-j .eh_frame_hdr "$library" "$seeds/libc.elf" 2>/dev/null || true
	find "$(dirname "$(readlink -f "$library")")" -maxdepth 1 -name '*.so.*' -type f \
		-size -40k | sort | head -n 12 | while read -r small; do
		cp "$small" "$seeds/${small##*/}.elf"
	done
}

write_perf_map() {
	cat <<'END'
7f0000001000 40 LazyCompile:~add /srv/app.js:12
7f0000001040 1a0 Builtin:ArgumentsAdaptorTrampoline
0x7f0000001200 80 void [Demo] Program::Main(string[])[OptimizedTier1]
7f0000001010 20 LazyCompile:*add /srv/app.js:12
7f0000002000 0 empty
ffffffffffffff00 100 Ljava/lang/Object;::<init>
END
}

# Defects of perf maps: partial writes, other line ends, endless numbers, names with any bytes,
# overlapping code.
write_odd_perf_map() {
	printf '7f0000003000 40 cut\r\n7f0000003040 0x40 a\tb\033[31m\377\n\n'
	printf '10000000000000000 1 too_large\nffffffffffffffff ffffffffffffffff wraps\n'
	printf '%0300d 10 zeros\n7f0000003080 -1 negative\n 7f0000003090 8 indented\n' 0
	printf '7f0000003000 100 around\n7f0000003020 10 inside\n7f0000003020 10 inside_again\n'
	printf '7f00000030f0 20 %02000d\n7f0000004000 40 unfini' 7
}

# Real ones, if a program that writes them is installed.
make_perf_map_seeds() {
	write_perf_map >"$1/map"
	write_odd_perf_map >"$1/odd"
	: >"$1/empty"
	if command -v node >/dev/null; then
		node --perf-basic-prof --logfile=- --no-logfile-per-isolate \
			-e 'for (let i = 0; i < 1e4; i++) JSON.stringify([i])' >/dev/null &
		node_pid=$!
		wait "$node_pid" || :
		[ ! -f "/tmp/perf-$node_pid.map" ] ||
			head -c 60000 "/tmp/perf-$node_pid.map" >"$1/node"
		rm -f "/tmp/perf-$node_pid.map"
	fi
}

# The first character chooses the reader (tests/fuzz/fuzz_container_files.c).
make_container_seeds() {
	id=3f2a91c0b7d54e6688aa0011223344556677889900aabbccddeeff0123456789
	uid=0aa1b2c3-d4e5-4f60-8123-456789abcdef
	cri=io.kubernetes.cri
	names="\"$cri.sandbox-name\":\"web-0\",\"$cri.sandbox-namespace\":\"shop\",
		\"$cri.container-name\":\"app\",\"$cri.sandbox-uid\":\"$uid\""
	group="\"linux\":{\"cgroupsPath\":\"/kubepods/pod$uid/$id\"}"
	for reader in 0 1; do
		printf '%s{"ociVersion":"1.0.0","annotations":{%s},%s}' "$reader" "$names" "$group" \
			>"$1/config$reader"
	done
	printf '2{"ID":"%s","Config":{"Labels":{%s,"io.kubernetes.pod.name":"x"}},"Name":"/web"}' \
		"$id" "$names" >"$1/docker"
	printf '3{"id":"%s","bundle":"/run/b","config":{"labels":["a=b","bundle=/run/c",
		"%s.sandbox-name=web"]}}' "$id" "$cri" >"$1/state"
	printf '8[{"id":"x"},{"id":"%s","names":["web","x"],"flags":{}}]' "$id" >"$1/storage"
	printf '4web-0_shop_app-%s.log' "$id" >"$1/link"
	printf '<shop_web-0_%s' "$uid" >"$1/pod"
}

make_cgroup_seeds() {
	id=3f2a91c0b7d54e6688aa0011223344556677889900aabbccddeeff0123456789
	uid=0aa1b2c3_d4e5_4f60_8123_456789abcdef
	cp /proc/self/cgroup "$1/self"
	printf '/sys/fs/cgroup/memory/web\n' | cat - /proc/self/mountinfo >"$1/mounts"
	printf '0::/../../kubepods.slice/kubepods-pod%s.slice/cri-containerd-%s.scope\n' \
		"$uid" "$id" >"$1/v2"
	printf '5:cpu,cpuacct:/a:b/docker-%s.scope/init (deleted)\n1:name=systemd:/crio-conmon-%s\n' \
		"$id" "$id" >"$1/v1"
}

make_process_seeds() {
	cp /proc/self/stat "$1/stat"
	cp /proc/self/status "$1/status"
	printf '7 (a) b (\n) S 1 7 7 0 -1 0 0 0 0 0 0 0 0 0 20 0 3 0 99 1 1\nName:\tx\nThreads:\t-1\n' \
		>"$1/odd"
	printf 'Name:\ta\\nRssAnon:\t9\nRssAnon:\t99999999999999999999 kB\nVmSwap:\t-7\n' \
		>"$1/large"
}

# Changes of 12 bytes each (tests/unit/forged_words.h): one, and several, since libFuzzer begins with inputs
# as long as the longest.
make_change_seeds() {
	printf '\7\0\0\3\1\0\0\0\0\0\0\0' >"$1/change"
	for what in 0 1 2 3 4 5 6 7; do
		printf "\\$what\1\\$what\\$what\2\3\0\0\0\0\0\0"
	done >"$1/changes"
}

make_request_seeds() {
	printf 'GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n' >"$1/metrics"
	printf 'HEAD /debug/pprof/heap?x=1 HTTP/1.0\n\n' >"$1/head"
	printf 'POST /healthz HTTP/2\r\n\r\n' >"$1/post"
}

make_answer_seeds() {
	printf 'HTTP/1.1 503 Busy\r\nRetry-After: 5\r\nContent-Length: 2\r\n\r\nno' >"$1/busy"
	printf 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2;a=b\r\nok\r\n0\r\nX: y\r\n\r\n' \
		>"$1/chunked"
	printf 'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.0 400 Bad\n\nuntil the end' >"$1/end"
}

# One line per harness: the source of its seeds.
make_seeds() {
	case $1 in
	fuzz_maps)
		cp /proc/self/maps "$2/self"
		printf '%s\n' '7f00-7f01 r-xp 00000000 fe:01 77 /tmp/a b (deleted)' \
			'7f02-7f03 rw-s 00001000 00:05 9 /memfd:x\012y (deleted)' >"$2/odd"
		;;
	fuzz_perf_map) make_perf_map_seeds "$2" ;;
	fuzz_core) make_core_seeds "$2" ;;
	fuzz_container_files) make_container_seeds "$2" ;;
	fuzz_cgroup) make_cgroup_seeds "$2" ;;
	fuzz_process_text) make_process_seeds "$2" ;;
	fuzz_cpython* | fuzz_dotnet* | fuzz_ghc | fuzz_glibc | fuzz_go | fuzz_hotspot* | fuzz_java_threads | \
		fuzz_jemalloc* | fuzz_mimalloc* | fuzz_musl | fuzz_ocaml | fuzz_ocaml5 | fuzz_php | fuzz_recording | \
		fuzz_ruby* | fuzz_sampler_profiles | fuzz_tcmalloc | fuzz_tracemalloc | fuzz_v8*)
		make_change_seeds "$2"
		;;
	fuzz_http_answer) make_answer_seeds "$2" ;;
	fuzz_http_request) make_request_seeds "$2" ;;
	fuzz_worker_answer) "$directory/seed_worker_answer" "$2" "$seeds"/*.elf ;;
	*) cp "$seeds"/*.elf "$2" ;;
	esac
}

start() {
	name=${1##*/} corpus=$directory/corpus/${1##*/}
	mkdir -p "$corpus"
	make_seeds "$name" "$corpus"
	[ ! -f "tests/fuzz/corpus/$name.tar.xz" ] ||
		tar -xJf "tests/fuzz/corpus/$name.tar.xz" -C "$corpus"
	for input in "$directory/crashes/$name"-*; do
		[ ! -f "$input" ] || cp "$input" "$corpus"
	done
	nice "$1" -max_total_time="$seconds" -max_len=400000 -timeout=20 -rss_limit_mb=2048 \
		-report_slow_units=60 -print_final_stats=1 \
		-artifact_prefix="$directory/crashes/$name-" "$corpus" \
		>"$directory/$name.log" 2>&1 &
	running="$running $!"
}

# finish NAME PID
finish() {
	status=0
	wait "$2" || status=$?
	log=$directory/$1.log
	executions=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
	if [ "$status" -eq 0 ]; then
		passed=$((passed + 1))
		printf '%-20s %9s executions, no finding\n' "$1" "${executions:-0}"
		return
	fi
	failed=$((failed + 1))
	printf '%-20s %9s executions, 1 FINDING:\n' "$1" "${executions:-0}"
	grep -v -e '^#[0-9]*	' -e '^stat::' -e '^INFO: ' "$log" | tail -n 60
}

# Both programs of a pair take the same time.
run_pair() {
	running=''
	start "$1"
	first=$!
	if [ "$#" -eq 1 ]; then
		finish "${1##*/}" "$first"
		running=''
		return
	fi
	start "$2"
	second=$!
	finish "${1##*/}" "$first"
	finish "${2##*/}" "$second"
	running=''
}

make_elf_seeds
while [ "$#" -gt 1 ]; do
	run_pair "$1" "$2"
	shift 2
done
[ "$#" -eq 0 ] || run_pair "$1"
printf '%d passed, %d failed, 0 skipped\n' "$passed" "$failed"
[ "$failed" -eq 0 ]
