#!/usr/bin/env bash
# Stops what start.sh started in FOLDER, and removes it.
set -uo pipefail
dir=$1
[ -e "$dir/slurm.conf" ] && SLURM_CONF=$dir/slurm.conf scancel --user="$(id -un)" 2>/dev/null
for pid in "$dir"/slurmd-*.pid "$dir"/slurmctld.pid "$dir"/munge/pid; do
	[ -s "$pid" ] && kill "$(cat "$pid")" 2>/dev/null
done
for pid in "$dir"/slurmd-*.pid "$dir"/slurmctld.pid "$dir"/munge/pid; do
	for _ in $(seq 50); do
		[ -s "$pid" ] && kill -0 "$(cat "$pid")" 2>/dev/null || break
		sleep 0.1
	done
done
rm -rf "$dir"
