#!/bin/bash
# start.sh DIRECTORY: starts eleven kinds of growing and steady programs, and writes "NAME PID" lines
# to DIRECTORY/pids. `kill -- -$(cat DIRECTORY/group)` ends them. Root; runtimes that are missing are left out.
# REDIS, NGINX, POSTGRES_BIN: other paths of servers. BURN=1: two idle-priority programs keep the cores busy.
set -u
here=$(cd "$(dirname "$0")" && pwd)
at=$1
mkdir -p "$at" && cd "$at" || exit 1
: > pids
if [ "${STARTED:-}" != 1 ]; then
	STARTED=1 setsid "$here/start.sh" "$at" < /dev/null > log 2>&1 &
	echo $! > group
	for _ in $(seq 120); do [ -e ready ] && break; sleep 1; done
	cat pids
	exit
fi

start() { # NAME COMMAND…
	local name=$1
	shift
	"$@" < /dev/null > "$name.log" 2>&1 &
	echo "$name $!" >> pids
}

has() { command -v "$1" > /dev/null; }

g++ -O1 -g -o cycle "$here/cycle.cc"
gcc -O1 -g -o sessions "$here/sessions.c" -pthread
gcc -O1 -g -static -o contained "$here/sessions.c" -pthread
start cycle ./cycle
start blocks ./sessions blocks
start descriptors ./sessions descriptors
start threads ./sessions threads
start python /usr/bin/python3 "$here/sessions.py"
has node && start node node "$here/sessions.js"
has javac && javac -g -d . "$here/Sessions.java" && start java java -Xmx1g Sessions
go=$(ls /usr/lib/go*/bin/go 2> /dev/null | tail -1)
go=${go:-$(command -v go)}
[ -n "$go" ] && GOCACHE=$at/go GOPATH=$at/gopath HOME=$at "$go" build -o sessions-go "$here/sessions.go" && start go ./sessions-go

# tmpfs: what grows is the group's, and no process's
mkdir -p shm && mount -t tmpfs -o size=1g eleven shm
group=/sys/fs/cgroup/memory
[ -d $group ] || group=/sys/fs/cgroup
mkdir -p $group/eleven-tmpfs
start tmpfs bash -c "echo \$\$ > $group/eleven-tmpfs/cgroup.procs; exec ./sessions tmpfs $at/shm/file"

# a container of crun
if has crun; then
	mkdir -p bundle/rootfs/proc bundle/rootfs/dev
	cp contained bundle/rootfs/
	cat > bundle/config.json << JSON
{"ociVersion":"1.0.0","process":{"terminal":false,"user":{"uid":0,"gid":0},"args":["/contained","blocks"],"env":["PATH=/"],"cwd":"/"},
"root":{"path":"rootfs"},"hostname":"shop","mounts":[{"destination":"/proc","type":"proc","source":"proc"}],
"linux":{"cgroupsPath":"/eleven-crun","namespaces":[{"type":"pid"},{"type":"mount"},{"type":"ipc"},{"type":"uts"}]}}
JSON
	start crun unshare --mount sh -c "umount -l /sys/fs/cgroup/unified 2>/dev/null
		exec crun --cgroup-manager=cgroupfs run --bundle $at/bundle eleven-shop"
fi

# servers under load
redis=${REDIS:-$(command -v redis-server)}
if [ -n "$redis" ]; then
	start redis "$redis" --port 7379 --save '' --dir "$at"
	start redis-client python3 -c '
import socket, time
time.sleep(2)
c = socket.create_connection(("127.0.0.1", 7379))
n = 0
while True:
	for _ in range(20):
		n += 1
		v = b"x" * 400
		c.sendall(b"*3\r\n$3\r\nSET\r\n$8\r\n%08d\r\n$400\r\n%s\r\n" % (n, v)); c.recv(64)
	time.sleep(0.05)'
fi
nginx=${NGINX:-$(command -v nginx)}
if [ -n "$nginx" ]; then
	mkdir -p www && echo "<p>a page" > www/index.html
	cat > nginx.conf << CONF
daemon off; worker_processes 1; user root; pid $at/nginx.pid; error_log $at/nginx.error; events { worker_connections 64; }
http { access_log $at/access; client_body_temp_path $at/b; proxy_temp_path $at/p; fastcgi_temp_path $at/f;
uwsgi_temp_path $at/u; scgi_temp_path $at/s; server { listen 127.0.0.1:7380; root $at/www; } }
CONF
	start nginx "$nginx" -c "$at/nginx.conf"
	start nginx-client bash -c 'while :; do curl -s http://127.0.0.1:7380/ > /dev/null; sleep 0.1; done'
fi
bin=${POSTGRES_BIN:-$(ls -d /usr/lib/postgresql/*/bin 2> /dev/null | tail -1)}
if [ -n "$bin" ] && [ -x "$bin/postgres" ]; then
	mkdir -p pg && chown nobody pg && chmod o+x "$at"
	[ -e null ] || mknod -m 666 null c 1 3 # some build machines let nobody but root write to /dev/null
	cat > as-nobody << 'SH'
mount --bind "$1/null" /dev/null && cd "$1/pg" && shift && exec setpriv --reuid nobody --regid nogroup --clear-groups "$@"
SH
	unshare --mount sh as-nobody "$at" "$bin/initdb" -D "$at/pg/data" -A trust -U postgres > initdb.log 2>&1
	start postgres unshare --mount sh as-nobody "$at" "$bin/postgres" -D "$at/pg/data" -p 7381 -k "$at/pg" -c shared_buffers=16MB
	sleep 3
	start postgres-client bash -c "while :; do echo 'select relname from pg_class limit 1;'; sleep 0.1; done |
		'$bin/psql' -h 127.0.0.1 -p 7381 -U postgres postgres"
fi
if [ "${BURN:-}" = 1 ]; then
	for _ in 1 2; do start burner nice -n 19 sh -c 'while :; do :; done'; done
fi
trap "umount $at/shm" EXIT
touch ready
wait
