package nsysdb

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// A schema of a higher major version is a doubt that names both versions; the report is still read.
func TestNewerSchema(t *testing.T) {
	t.Parallel()
	for schema, want := range map[string]bool{"4.0.0": true, "10.1": true, "3.99.0": false, "3.0.0": false, "": false, "odd": false} {
		db := open(t, build(t, `CREATE TABLE META_DATA_EXPORT (name TEXT, value TEXT);
INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_SCHEMA_VERSION', '`+schema+`')`))
		got := slices.ContainsFunc(db.Warnings(), func(w Warning) bool {
			return w.Code == "newer-schema" && strings.Contains(w.Text, schema) && strings.Contains(w.Text, "3.20")
		})
		if got != want {
			t.Errorf("%q: %v", schema, db.Warnings())
		}
	}
}

// Times of the recording are held against the events.
func TestCaptureTimes(t *testing.T) {
	t.Parallel()
	const second = 1000000000
	for _, c := range []struct {
		name                string
		normalize, shift    string
		first, last         int64
		start, end, startAt int64
	}{
		{"from the session's start", "false", "0", 1 * second, 9 * second, 0, 10 * second, 5000 * second},
		{"late", "false", "0", 155 * second, 164 * second, 155 * second, 165 * second, 5000 * second},
		{"shifted", "false", "3000000000", 4 * second, 12 * second, 3 * second, 13 * second, 4997 * second},
		{"since 1970", "true", "0", 5001 * second, 5009 * second, 5000 * second, 5010 * second, 0},
		{"nowhere", "false", "0", 1 * second, 900 * second, 0, 0, 5000 * second},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := open(t, build(t, fmt.Sprintf(`CREATE TABLE META_DATA_EXPORT (name TEXT, value TEXT);
INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_PARAM_TIME_NORMALIZE', '%s'), ('EXPORT_CONFIG_TIME_SHIFT', '%s');
CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER); INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (5000000000000);
CREATE TABLE ANALYSIS_DETAILS (globalVid INTEGER, duration INTEGER, startTime INTEGER, stopTime INTEGER);
INSERT INTO ANALYSIS_DETAILS VALUES (1, 10000000000, 155000000000, 165000000000);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER); INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (%d), (%d)`,
				c.normalize, c.shift, c.first, c.last))).Meta()
			if m.CaptureStart != c.start || m.CaptureEnd != c.end || m.StartUTC != c.startAt {
				t.Errorf("from %d to %d, zero at %d", m.CaptureStart, m.CaptureEnd, m.StartUTC)
			}
		})
	}
}

// One process that collects is enough; what no process says is not said.
func TestCaptureSettings(t *testing.T) {
	t.Parallel()
	m := open(t, build(t, `CREATE TABLE META_DATA_CAPTURE (name TEXT, value TEXT);
INSERT INTO META_DATA_CAPTURE VALUES ('PROCESS_0:COLLECT_GPU_MEMORY_USAGE', 'true'), ('PROCESS_1:COLLECT_GPU_MEMORY_USAGE', 'false'),
 ('PROCESS_0:COLLECT_CUDA_TRACE', 'false'), ('PROCESS_0:CUDA_GRAPH_TRACE_OPTIONS:MODE', 'Node')`)).Meta()
	if m.CollectMemory != On || m.CollectCUDA != Off || m.CollectNVTX != NotSaid || m.GraphMode != "Node" {
		t.Errorf("got %+v", m)
	}
}

func TestProcessName(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"./mem": "mem", "/usr/bin/python3.10": "python3.10", "python3 train.py --token=abc": "python3", "/usr/bin/python3 /home/me/train.py": "python3",
		`C:\Program Files\Python\python.exe C:\me\train.py`: "python.exe", `"C:\My Tools\run" --key x`: "run", "": "", "[NSys Comms]": "[NSys Comms]",
		"python3\ttrain.py\tabc": "python3", "python3\x00--key\x00abc": "python3", "python3\u00a0--key\u3000abc": "python3", "TOKEN=abc python3 x": "TOKEN",
		"[python --key=abc]": "[python", "/opt/my.executor --key abc": "my.executor", "'/opt/my tools/run' abc": "run", "python3;abc": "python3",
	} {
		if got := processName(in); got != want {
			t.Errorf("processName(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestVersionsDecoded(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{"58015904": "580.159.04", "580.159.04": "580.159.04", "5355403": "5355403", "": ""} {
		if got := driverVersion(in); got != want {
			t.Errorf("driverVersion(%q) = %q", in, got)
		}
	}
	for in, want := range map[string]string{"13000": "13.0", "12040": "12.4", "11080": "11.8", "12.4": "12.4", "": ""} {
		if got := cudaVersion(in); got != want {
			t.Errorf("cudaVersion(%q) = %q", in, got)
		}
	}
}

// Nothing of an export's environment variables, command lines, host and user names, or of folders, is in Meta.
func TestNoSecrets(t *testing.T) {
	t.Parallel()
	db := open(t, build(t, `CREATE TABLE TARGET_INFO_SYSTEM_ENV (globalVid INTEGER, devStateName TEXT, name TEXT, nameEnum INTEGER, value TEXT);
INSERT INTO TARGET_INFO_SYSTEM_ENV VALUES (1,'x','EnvironmentVariables',1,'API_KEY=SECRET'), (1,'x','Hostname',1,'SECRET'), (1,'x','OsDescription',1,'Linux'),
 (1,'x','CommandLine',1,'train --password SECRET');
CREATE TABLE META_DATA_CAPTURE (name TEXT, value TEXT);
INSERT INTO META_DATA_CAPTURE VALUES ('PROCESS_0:ENVIRONMENT', 'TOKEN=SECRET'), ('DEVICE_DISPLAY_NAME', 'SECRET'), ('PROCESS_0:COMMAND_LINE_ARGUMENTS', 'SECRET');
CREATE TABLE META_DATA_EXPORT (name TEXT, value TEXT);
INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_HOST', 'SECRET'), ('EXPORT_USER', 'SECRET'), ('EXPORT_PARAM_INPUT_PATH_ABS', '/home/SECRET/x');
CREATE TABLE PROCESSES (globalPid INTEGER, pid INTEGER, name TEXT); INSERT INTO PROCESSES VALUES (83886080, 5, '/home/SECRET/bin/train --key SECRET');
CREATE TABLE ENUM_DIAGNOSTIC_SEVERITY_LEVEL (id INTEGER, name TEXT, label TEXT); INSERT INTO ENUM_DIAGNOSTIC_SEVERITY_LEVEL VALUES (1,'Info',''), (2,'Warning',''), (3,'Error','');
CREATE TABLE DIAGNOSTIC_EVENT (timestamp INTEGER, timestampType INTEGER, source INTEGER, severity INTEGER, text TEXT, globalPid INTEGER);
INSERT INTO DIAGNOSTIC_EVENT VALUES (1,1,1,1,'Launching SECRET',NULL), (2,1,1,2,'Cannot read /home/SECRET/cache/libfoo.so: denied',83886080),
 (3,1,1,3,'Target failed. Command line: /bin/x SECRET',-144115188075855872), (4,1,1,2,'Set LD_PRELOAD=SECRET to go on',NULL),
 (5,1,1,2,'Lost the link to SECRET@10.1.2.3:45555, see C:\Users\SECRET\nsys\log.txt',NULL);`))
	m := db.Meta()
	if text := fmt.Sprintf("%+v", *m); strings.Contains(text, "SECRET") {
		t.Errorf("told: %s", text)
	}
	if m.OS != "Linux" || len(m.Processes) != 1 || m.Processes[0].Name != "train" {
		t.Errorf("got %+v", m)
	}
	var texts []string
	for _, d := range m.Diagnostics {
		texts = append(texts, d.Severity+" "+d.Text)
	}
	if want := []string{"warning Cannot read …/libfoo.so: denied", "error Target failed. Command line: (left out)",
		"warning Set LD_PRELOAD=(left out) to go on", "warning Lost the link to (left out), see …/log.txt"}; !slices.Equal(texts, want) {
		t.Errorf("diagnostics %q", texts)
	}
}

// A message of the profiler's own words stays; what it says of the user's machine and work is left out, however it stands
// there.
func TestRedact(t *testing.T) {
	t.Parallel()
	for _, s := range []string{
		"Not all CUDA events might have been collected.", "No NVTX events collected. Does the process use NVTX?", "CUPTI error 0x1f: see CUPTI_ERROR_UNKNOWN.",
		"The user does not have permission to access GPU performance counters (ERR_NVGPUCTRPERM).", "Driver 580.159 is older than 590.1, CPU/GPU times may be off by 20ms.",
		"Cannot load libcupti.so.13: 5 of 10 buffers were lost", "CUDA device graph launch is not traced",
		"ActivityFlushAll returned 2: CUPTI_ERROR_INVALID_DEVICE", "Unable to collect CPU kernel IP/backtrace samples. perf event paranoid level is 4.",
		"CUDA device 0: Unified Memory cannot be traced on devices that don't support peer-to-peer transfers.",
		"12 NVTX annotations were discarded because they contained at least one invalid string handle.", "cudaLaunchKernel and cuMemCreate failed",
	} {
		if got := redact(s); got != s {
			t.Errorf("redact(%q) = %q", s, got)
		}
	}
	for _, s := range []string{
		"Command line: python S3CR3T", "env: A=S3CR3T", "HOME=/S3CR3T is odd", `export FOO="S3CR3T and S3CR3T"`, "PASSWORD='a S3CR3T'", "host S3CR3T.example.com refused",
		"on alices3cr3t-S3CR3T.local", "Launching: python3 train.py --api-key S3CR3T", "--password S3CR3T", "run -p S3CR3T", "hostname S3CR3T", "AWS_ACCESS_KEY: S3CR3T and more",
		`"cmd": "S3CR3T"`, "args: [S3CR3T]", "argv S3CR3T", "Failed to launch 'python3 S3CR3T'", "in `S3CR3T x`", "Authorization: Bearer S3CR3T", "http://u:S3CR3T@h/x",
		"2001:db8::S3CR3T", "/S3CR3T", "~/S3CR3T", "/home/S3CR3T/a b", `\\S3CR3T\share\x`, "at 10.11.12.13:S3CR3T", "user: S3CR3T", "token S3CR3T", "said 'S3CR3T", "file:///S3CR3T/a",
		// Words that only a reader knows for names: no rule but that the profiler does not say them.
		"Environment variable S3CR3T is set", "Host S3CR3T not reachable", "Hostname is S3CR3T", "Permission denied for user S3CR3T", "running on S3CR3T", "WANDB_API_KEY is S3CR3T",
		"with args [S3CR3T]", "job S3CR3T on host", "S3CR3T.exe was killed", "HOME is S3CR3T", "S3CR3T_KEY=1", "Attached to S3CR3T as root", "nodeS3CR3T", "S3CR3T's", "(S3CR3T)", "x-S3CR3T-y",
	} {
		if got := redact(s); strings.Contains(got, "S3CR3T") {
			t.Errorf("redact(%q) = %q", s, got)
		}
	}
}

// Devices by process, and ranks.
func TestDevicesAndRanks(t *testing.T) {
	t.Parallel()
	m := open(t, build(t, `CREATE TABLE TARGET_INFO_GPU (id INTEGER, name TEXT, totalMemory INTEGER);
INSERT INTO TARGET_INFO_GPU VALUES (0, 'A', 80), (1, 'B', NULL);
CREATE TABLE TARGET_INFO_CUDA_DEVICE (gpuId INTEGER, cudaId INTEGER, pid INTEGER); INSERT INTO TARGET_INFO_CUDA_DEVICE VALUES (0,1,5), (1,0,5), (1,0,6), (NULL,0,7);
CREATE TABLE MPI_RANKS (globalPid INTEGER, rank INTEGER); INSERT INTO MPI_RANKS VALUES (83886080, 3)`)).Meta()
	if len(m.GPUs) != 2 || !maps.Equal(m.GPUs[0].CUDAIDs, map[int64]int64{5: 1}) || !maps.Equal(m.GPUs[1].CUDAIDs, map[int64]int64{5: 0, 6: 0}) || m.GPUs[1].TotalMemory != 0 {
		t.Errorf("GPUs %+v", m.GPUs)
	}
	if !maps.Equal(m.MPIRanks, map[int64]int64{procP: 3}) {
		t.Errorf("ranks %v", m.MPIRanks)
	}
}

// TestDiagnosticsBounded checks that one message costs one place however often it stands there, and a text beyond any sense
// is not read.
func TestDiagnosticsBounded(t *testing.T) {
	t.Parallel()
	m := open(t, build(t, `CREATE TABLE META_DATA_EXPORT (name TEXT, value TEXT);
CREATE TABLE DIAGNOSTIC_EVENT (timestamp INTEGER, timestampType INTEGER, source INTEGER, severity INTEGER, text TEXT, globalPid INTEGER);
WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i+1 FROM n WHERE i < 4999)
 INSERT INTO DIAGNOSTIC_EVENT SELECT i, 0, 3, 2, 'CUDA events were dropped', (i%2+5)<<24 FROM n;
INSERT INTO DIAGNOSTIC_EVENT VALUES (1,0,3,3,CAST(zeroblob(50000000) AS TEXT),NULL), (1,0,3,3,'buffer lost',NULL);
WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i+1 FROM n WHERE i < 4999)
 INSERT INTO DIAGNOSTIC_EVENT SELECT i, 0, 3, 2, 'lost '||i, NULL FROM n`)).Meta()
	if n := len(m.Diagnostics); n != maxMessages {
		t.Fatalf("%d messages, want %d", n, maxMessages)
	}
	want := []Diagnostic{{"warning", "CUDA events were dropped", 5 << 24, 2500}, {"warning", "CUDA events were dropped", 6 << 24, 2500}, {"error", "", 0, 1}, {"error", "buffer lost", 0, 1}}
	if got := m.Diagnostics[:len(want)]; !slices.Equal(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}
