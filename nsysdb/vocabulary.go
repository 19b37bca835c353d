package nsysdb

import (
	"regexp"
	"strings"
	"sync"
)

// vocabulary is the words of which the profiler's own messages are made, in lower case: those of messages in public and own
// exports of nsys 2021 to 2026, and what such messages are commonly put together from. A message may name a host, a user, a
// program or its arguments anywhere and in any form; a word that is not here may be one of these, and is left out.
const vocabulary = `
a about above absent access accessdeniedexception account across active activity activityflushall added after again agent all
allocate allocated allocation allocations allowed already also amount an analysis analysisservice and annotation annotations any
api apis application applications are args arguments argv as at async asynchronous attached attempt attempting attribute attributes
automatically autograd available avx back backtrace backtraces bandwidth based be because been before began begin behavior being
below between blas block board both branch buffer buffers build but by byte bytes cache call called calls can cannot capability
capable capture captured card cause caused change changed check child clock clocks code collect collected collecting collection
collections collective command communication compatible compile compiler compilers complete completed component compute conflict
configure configured connect connected connection contain contained containing contains context contexts control copies copy core
corrected correctly correlation corrupt corrupted could count counter counters cpu create created currently cycle cycles daemon
damaged data dcgm deadline debug deduced default delayed denied deprecated detected device devices did different directory
disabled disconnected discarded disk dlopen do does domain domains don done down driver drivers dropped due duplicate duration
during dwarf each earlier echo either elapsed empty enable enabled enabling encountered end ended ends enough entries entry env
environment equals err error errors event events every exceed exceeded except exception exceptions exec executable executing
execution exist exists exit exited expected expired export exported external fail failed failing fails failure fallback false
fatal faults feature features few field fields file files filled filter find finished first flag flags flush flushed flushing for
found fragment frame frequency from full function functioning functions generated get given go gpu gpus graph graphs greater had
handle handled handler handles hardware has have header heap help helper holding hook hooks host how id if ignored image in
inaccurate incomplete incompatible incorrect increase information init initialization initialize initialized injected injection
input inside install installed installation instance instead instruction insufficient int intel internal interrupt interrupted
interrupts interval into invalid invoked ip is issue issued it item items its java job just kernel kernels key killed known large
last later latency launch launched launches launching layer ld lbr learn least left legacy length level lib libraries library limit
limited limits line link linked links linux list lite load loaded loading local lock log login long longer lost low lower machine
made major make making manager many map mapped mapping mark marker markers match maximum may mb measured memory message messages
method metric metrics might minimum minor mismatch missing mmap mode model module modules more most mpi ms multiple must name
named native nccl need needed network new next nic no node none normal not note nothing now ns nsight nsys null number nvgpuctrperm
nvlink nvml nvtx nvtxdomainregisterstring nvtxeventattributes object objects occurred of off ok old older on once one only open opengl
openacc openmp opened operation operations opt optimization option options or order os other out outdated output over overflow
overhead own package packages page pageable paging paranoid parent part parse password path pci peer pending per percent perf
performance performed period permission permissions permitted pid pinned pipe platform please plugin point pool possible post
preload present preserve prevent previous print prior privilege privileges problem process processed processes processing
processor produced profile profiled profiler profiles profiling program properly property protocol provide provided ptrace put
python pytorch queries query queue quota ran range ranges rate reach reachable reached read reading ready reason receive received
record recorded records recording reduce reference refused register registered rejected related release released remain remaining
remote remove removed rename repeated replaced report reported reports request requested requests require required requires reset
resolve resolved resource resources responding response restart restarted result results resume retry return returned returns
right root row rows run running runtime same sample sampled samples sampling save saved saving scheduling schema scope script
second seconds secret section see segment send sent server service session set setting settings several sh shared should shut
shutdown shown signal since single size sizes skip skipped sleep slow small smaller so socket software some source space specified
stack stale standard start started starting state statically status still stop stopped stopping storage store stored stream
streams string strings structure structures subsystem success successful successfully such sudo suitable support supported supports
switch switches symbol symbols sync synchronization synchronize sys system systems table take taken target task temporarily
temporary terminate terminated than that the their them then there these they this thread threads through time timed timeout times
timestamp timestamps to together token too tool tools total trace traced tracer traces tracing track tracked transfer transferred
transfers tree trigger triggered true truncated try trying twice two txt type types unable unavailable under undefined unexpected
unified unknown unload unloaded unnamed unresolved unset unsupported until up update updated upgrade usage use used user uses using
valid value values variable variables vendor verification verify version versions via view virtual vma vulkan wait waited waiting warning was we were
what when where whether which while who why will window windows with within without work worker working workstation write writing
written wrong you your zero
`

var words = sync.OnceValue(func() map[string]bool {
	set := make(map[string]bool)
	for _, w := range strings.Fields(vocabulary) {
		set[w] = true
	}
	return set
})

var (
	letters = regexp.MustCompile(`[A-Za-z\x{80}-\x{10FFFF}]+`)
	nameAPI = regexp.MustCompile(`^\W?(?:cu|cuda|nv|nvtx|nvml|nccl|cudnn|cublas|cupti)[A-Z]\w*\W*$|(?i)^\W?(?:cuda|cupti|cudnn|cublas|cufft|cusparse|nvidia|sm|compute|x86)[\d_.]*\W*$`)
)

// ours says that a word is the profiler's own: a number, a function of CUDA, or made of words of the vocabulary alone, such
// as "CUPTI_ERROR_UNKNOWN".
func ours(w string) bool {
	w = strings.TrimPrefix(w, "…/") // of a path that is left out
	if number.MatchString(w) || nameAPI.MatchString(w) || library.MatchString(w) && !strings.Contains(w, ".exe") {
		return true
	}
	for _, l := range letters.FindAllString(w, -1) {
		if len(l) > 1 && !words()[strings.ToLower(l)] && !nameAPI.MatchString(l) {
			return false
		}
	}
	return true
}
