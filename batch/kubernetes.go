package batch

import (
	"encoding/json"
	"fmt"
	"regexp"
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
	Tasks   int
	CPUs    int
	Memory  string // of each pod, such as "2Gi"
}

var (
	kubeName   = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,50}[a-z0-9])?$`)
	kubeAmount = regexp.MustCompile(`^[0-9]+(\.[0-9]+)?([KMGT]i?|k|m)?$`)
)

// Manifests are two jobs as YAML: an indexed one whose pods share out the reports, and one that waits for all results and
// merges them. A pod that ends with reports that failed is not run again; one that was evicted or killed is.
func (k *Kubernetes) Manifests() (string, error) {
	switch {
	case k.Image == "" || k.Claim == "":
		return "", fmt.Errorf("batch: a Kubernetes job needs an image that has nsysmem and a volume claim with the reports")
	case !kubeName.MatchString(k.Name):
		return "", fmt.Errorf("batch: name %q: use up to 52 small letters, digits and dashes", k.Name)
	case !kubeAmount.MatchString(k.Memory):
		return "", fmt.Errorf("batch: memory %q: write such as 2Gi", k.Memory)
	case k.Tasks < 1 || k.CPUs < 1:
		return "", fmt.Errorf("batch: %d tasks of %d CPUs: both must be 1 at least", k.Tasks, k.CPUs)
	}
	for _, w := range append(append([]string{k.Image, k.Out, k.Claim, k.Mount}, k.Command...), k.Args...) {
		if !utf8.ValidString(w) {
			return "", fmt.Errorf("batch: %q: YAML has no form for what is not UTF-8", w)
		}
	}
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	pod := func(cpus int, command []string, env string) {
		line("  template:")
		line("    spec:")
		line("      restartPolicy: Never")
		line("      containers:")
		line("      - name: nsysmem")
		line("        image: %s", yaml(k.Image))
		line("        command: %s", yaml(literal(k.Command)))
		line("        args: %s", yaml(literal(command)))
		if env != "" {
			line("        env:")
			line("        - name: JOB_COMPLETIONS # the pods know their index, but not of how many")
			line("          value: %s", yaml(env))
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
	line("# Two jobs, for Kubernetes 1.29 or later: one whose pods share out the reports, and one that merges their results.")
	line("# Apply them with kubectl apply -f; deleted and applied again, they do only what is missing.")
	line("apiVersion: batch/v1")
	line("kind: Job")
	line("metadata:")
	line("  name: %s", yaml(k.Name))
	line("spec:")
	line("  completionMode: Indexed")
	line("  completions: %d", k.Tasks)
	line("  parallelism: %d", k.Tasks)
	line("  backoffLimitPerIndex: 3 # tries of one share do not use up those of the others")
	line("  podFailurePolicy:")
	line("    rules:")
	line("    - action: Ignore # evicted, or its node was lost: not the share's fault")
	line("      onPodConditions: [{type: DisruptionTarget}]")
	line("    - action: FailIndex # done, with reports that failed: trying again would not help")
	line("      onExitCodes: {containerName: nsysmem, operator: In, values: [1, 2]}")
	pod(k.CPUs, append([]string{"batch"}, k.Args...), fmt.Sprint(k.Tasks))
	line("---")
	line("apiVersion: batch/v1")
	line("kind: Job")
	line("metadata:")
	line("  name: %s", yaml(k.Name+"-merge"))
	line("spec:")
	line("  backoffLimit: 0 # it ends with 1 where a report failed, after it has merged the others")
	pod(1, []string{"batch", "merge", "--wait=24h", "--", k.Out}, "")
	return b.String(), nil
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
