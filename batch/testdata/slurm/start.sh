#!/usr/bin/env bash
# Starts a Slurm cluster of two nodes on this machine, for tests. Prints the path of its slurm.conf, for SLURM_CONF.
# Usage: start.sh FOLDER (which must not exist); stop.sh FOLDER ends it. Needs root and Debian's slurm-wlm and munge,
# which it installs where they are missing.
set -euo pipefail
dir=$1
mkdir -p "$dir" # SlurmUser and munge must be able to go through it
dir=$(cd "$dir" && pwd)
chmod 755 "$dir"
mkdir "$dir/state" "$dir/spool1" "$dir/spool2" "$dir/munge"

if ! command -v slurmctld >/dev/null || ! command -v slurmd >/dev/null || ! command -v munged >/dev/null; then
	{
		apt-get update -qq
		# The packages must not start services of their own.
		RUNLEVEL=1 DEBIAN_FRONTEND=noninteractive apt-get install -y -qq slurm-wlm munge
	} >"$dir/install.log" 2>&1 || { cat "$dir/install.log" >&2; exit 1; }
fi

# munged is particular about who owns what, and refuses to run as root.
chown munge: "$dir/munge"
chmod 755 "$dir/munge"
dd if=/dev/urandom of="$dir/munge/key" bs=1024 count=1 status=none
chown munge: "$dir/munge/key"
chmod 400 "$dir/munge/key"
setpriv --reuid=munge --regid=munge --clear-groups munged --key-file="$dir/munge/key" --socket="$dir/munge/socket" \
	--pid-file="$dir/munge/pid" --log-file="$dir/munge/log" --seed-file="$dir/munge/seed" --force

mapfile -t port < <(shuf -i 20000-29999 -n 3) # below those that the system gives out
host=$(hostname -s)
cat >"$dir/slurm.conf" <<CONF
ClusterName=nsysmem
SlurmctldHost=$host(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$dir/munge/socket
CredType=cred/munge
SlurmctldPort=${port[0]}
StateSaveLocation=$dir/state
SlurmctldPidFile=$dir/slurmctld.pid
SlurmctldLogFile=$dir/slurmctld.log
SlurmdSpoolDir=$dir/spool%n
SlurmdPidFile=$dir/slurmd-%n.pid
SlurmdLogFile=$dir/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
JobAcctGatherType=jobacct_gather/none
MpiDefault=none
ReturnToService=2
SlurmdParameters=config_overrides
MessageTimeout=30
SchedulerParameters=batch_sched_delay=1,sched_interval=2
SwitchType=switch/none
NodeName=1 NodeHostname=$host NodeAddr=127.0.0.1 Port=${port[1]} CPUs=2 State=UNKNOWN
NodeName=2 NodeHostname=$host NodeAddr=127.0.0.1 Port=${port[2]} CPUs=2 State=UNKNOWN
PartitionName=all Nodes=1,2 Default=YES MaxTime=INFINITE State=UP
CONF

export SLURM_CONF=$dir/slurm.conf
slurmctld -f "$SLURM_CONF" >"$dir/start.log" 2>&1
for node in 1 2; do
	slurmd -N "$node" -f "$SLURM_CONF" >>"$dir/start.log" 2>&1
done
for _ in $(seq 60); do
	if [ "$(sinfo -h -o '%T %D' 2>/dev/null)" = "idle 2" ]; then
		echo "$SLURM_CONF"
		exit 0
	fi
	sleep 0.5
done
sinfo >&2 || true
tail -n 20 "$dir"/*.log >&2
"$(dirname "$0")/stop.sh" "$dir"
exit 1
