package align

import (
	"slices"
	"sync"

	"nsysmem/nsysdb"
)

// maxProcs bounds the processes of one report; what belongs to further ones is counted with the last.
const maxProcs = 4096

// A process is one traced process. Stages keep what they know of it in lists by its index.
type process struct {
	gpid  int64 // globalPid
	pid   int64
	name  string // empty where unknown
	index int32  // in the order in which processes were met
}

// A trackKey is one process on one device.
type trackKey struct {
	proc   *process
	device int64
}

// processes are those met so far. Stages may read tables at once, and any table may be the first to name a process.
type processes struct {
	meta *nsysdb.Meta

	mu     sync.Mutex // guards what follows
	list   []*process // by index
	byGPID map[int64]*process
}

func newProcesses(meta *nsysdb.Meta) *processes {
	return &processes{meta: meta, byGPID: make(map[int64]*process)}
}

// of is the process of a globalPid or globalTid, made when first met.
func (ps *processes) of(global int64) *process {
	gpid := nsysdb.Process(global)
	ps.mu.Lock()
	defer ps.mu.Unlock()
	if p := ps.byGPID[gpid]; p != nil {
		return p
	}
	if len(ps.list) >= maxProcs {
		return ps.list[maxProcs-1]
	}
	p := &process{gpid: gpid, pid: nsysdb.PID(gpid), index: int32(len(ps.list))}
	for _, q := range ps.meta.Processes {
		if q.GlobalPID == gpid || q.GlobalPID == 0 && q.PID == p.pid {
			p.name = q.Name
		}
	}
	ps.byGPID[gpid] = p
	ps.list = append(ps.list, p)
	return p
}

// all are the processes met so far, by index.
func (ps *processes) all() []*process {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	return slices.Clone(ps.list)
}

// entry is the value of a key, which is zero where there was none.
func entry[K comparable, V any](m map[K]*V, key K) *V {
	v := m[key]
	if v == nil {
		v = new(V)
		m[key] = v
	}
	return v
}

// at is what a list by process has for one; nothing for a process that was met after the list was made.
func at[T any](list []T, p *process) (none T) {
	if int(p.index) < len(list) {
		return list[p.index]
	}
	return none
}
