package batch

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Kubernetes says how to do a batch as an indexed job.
type Kubernetes struct {
	Image   string   // has nsysmem
	Command []string // nsysmem, as the image has it
	Args    []string // of its command batch, with the reports and -o as the pods see them
	Out     string   // folder of the batch as the pods see it
	Claim   string   // persistent volume claim with the reports and the folder; many pods must be able to write to it
	Mount   string   // where the pods have it
	Name    string   // of the jobs
	Tasks   int      // pods, each of which takes a share; at least 1
	CPUs    int      // cores of each pod; at least 1
	Memory  string   // of each pod, such as "2Gi"
}

var (
	kubeName   = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,50}[a-z0-9])?$`)
	kubeAmount = regexp.MustCompile(`^[0-9]+(\.[0-9]+)?([KMGT]i?|k|m)?$`)
)

// Manifests are two jobs as YAML: an indexed one whose pods share out the reports, and one that waits for all results and
// merges them. A pod that ends with reports that failed is not run again; one that was evicted or killed is.
func (k *Kubernetes) Manifests() (string, error) {
	if err := k.check(); err != nil {
		return "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, indexedJob, yaml(k.Name), k.Tasks)
	k.pod(&b, k.CPUs, append([]string{"batch"}, k.Args...), k.Tasks)
	fmt.Fprintf(&b, mergeJob, yaml(k.Name+"-merge"))
	k.pod(&b, 1, []string{"batch", "merge", "--wait=24h", "--", k.Out}, 0)
	return b.String(), nil
}

// check refuses what Kubernetes would, or what has no form in a manifest.
func (k *Kubernetes) check() error {
	switch {
	case k.Image == "" || k.Claim == "":
		return fmt.Errorf("batch: a Kubernetes job needs an image that has nsysmem and a volume claim with the reports")
	case !kubeName.MatchString(k.Name):
		return fmt.Errorf("batch: name %q: use up to 52 small letters, digits and dashes", k.Name)
	case !kubeAmount.MatchString(k.Memory):
		return fmt.Errorf("batch: memory %q: write such as 2Gi", k.Memory)
	case k.Tasks < 1 || k.CPUs < 1:
		return fmt.Errorf("batch: %d tasks of %d CPUs: both must be 1 at least", k.Tasks, k.CPUs)
	}
	for _, w := range slices.Concat([]string{k.Image, k.Out, k.Claim, k.Mount}, k.Command, k.Args) {
		if !utf8.ValidString(w) {
			return fmt.Errorf("batch: %q: YAML has no form for what is not UTF-8", w)
		}
	}
	return nil
}

// indexedJob is the job whose pods share out the reports, up to its pod: its name, and the number of tasks.
const indexedJob = `# Two jobs, for Kubernetes 1.29 or later: one whose pods share out the reports, and one that merges their results.
# Apply them with kubectl apply -f; deleted and applied again, they do only what is missing.
apiVersion: batch/v1
kind: Job
metadata:
  name: %s
spec:
  completionMode: Indexed
  completions: %[2]d
  parallelism: %[2]d
  backoffLimitPerIndex: 3 # tries of one share do not use up those of the others
  podFailurePolicy:
    rules:
    - action: Ignore # evicted, or its node was lost: not the share's fault
      onPodConditions: [{type: DisruptionTarget}]
    - action: FailIndex # done, with reports that failed: trying again would not help
      onExitCodes: {containerName: nsysmem, operator: In, values: [1, 2]}
`

// mergeJob is the job that merges, up to its pod: its name.
const mergeJob = `---
apiVersion: batch/v1
kind: Job
metadata:
  name: %s
spec:
  backoffLimit: 0 # it ends with 1 where a report failed, after it has merged the others
`

// pod writes the pod of a job, which runs nsysmem with args. tasks is what it is told of how many it is one; 0 where it is
// alone.
func (k *Kubernetes) pod(b *strings.Builder, cpus int, args []string, tasks int) {
	line := func(format string, args ...any) { fmt.Fprintf(b, format+"\n", args...) }
	line("  template:")
	line("    spec:")
	line("      restartPolicy: Never")
	line("      containers:")
	line("      - name: nsysmem")
	line("        image: %s", yaml(k.Image))
	line("        command: %s", yaml(literal(k.Command)))
	line("        args: %s", yaml(literal(args)))
	if tasks > 0 {
		line("        env:")
		line("        - name: JOB_COMPLETIONS # the pods know their index, but not of how many")
		line("          value: %s", yaml(fmt.Sprint(tasks)))
	}
	line("        resources:")
	line("          requests: {cpu: %s, memory: %s}", yaml(fmt.Sprint(cpus)), yaml(k.Memory))
	line("          limits: {memory: %s}", yaml(k.Memory))
	line("        volumeMounts:")
	line("        - name: reports")
	line("          mountPath: %s", yaml(k.Mount))
	line("      volumes:")
	line("      - name: reports")
	line("        persistentVolumeClaim: {claimName: %s}", yaml(k.Claim))
}

// literal are words as Kubernetes must be given them, since it puts variables in: "$(NAME)" is one, "$$" is a "$".
func literal(words []string) []string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = strings.ReplaceAll(w, "$", "$$")
	}
	return out
}

// yaml is v in JSON, which is YAML but for control characters beyond those of ASCII: YAML has them escaped alone.
func yaml(v any) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return `""`
	}
	var out strings.Builder
	for _, r := range strings.TrimSuffix(b.String(), "\n") {
		if unicode.IsPrint(r) || r > 0xffff {
			out.WriteRune(r)
		} else {
			fmt.Fprintf(&out, "\\u%04x", r)
		}
	}
	return out.String()
}
