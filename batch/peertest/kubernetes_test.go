package peertest

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// TestKubernetes reads the manifests with Kubernetes' own types, in which every field must exist.
func TestKubernetes(t *testing.T) {
	out, err := exec.Command(build(t), "batch", "kubernetes", "/data/runs with space", "-o", "/data/out", "--image", "registry:5000/nsysmem:1", "--claim", "reports",
		"--tasks", "7", "--jobs", "3", "--memory", "4Gi", "--plot", "--rank-pattern", `gpu"(\d+)`).Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	docs := strings.Split(string(out), "\n---\n")
	if len(docs) != 2 {
		t.Fatalf("%d manifests:\n%s", len(docs), out)
	}
	var jobs [2]batchv1.Job
	for i, d := range docs {
		if err := yaml.UnmarshalStrict([]byte(d), &jobs[i]); err != nil {
			t.Fatalf("%v\n%s", err, d)
		}
	}
	j, pod := &jobs[0].Spec, &jobs[0].Spec.Template.Spec
	if *j.CompletionMode != batchv1.IndexedCompletion || *j.Completions != 7 || *j.Parallelism != 7 || *j.BackoffLimitPerIndex != 3 || pod.RestartPolicy != corev1.RestartPolicyNever {
		t.Errorf("job %+v", j)
	}
	rules := j.PodFailurePolicy.Rules
	if rules[0].Action != batchv1.PodFailurePolicyActionIgnore || rules[0].OnPodConditions[0].Type != corev1.DisruptionTarget ||
		rules[1].Action != batchv1.PodFailurePolicyActionFailIndex || *rules[1].OnExitCodes.ContainerName != pod.Containers[0].Name {
		t.Errorf("rules %+v", rules)
	}
	c := pod.Containers[0]
	want := []string{"batch", "--plot=true", `--rank-pattern=gpu"(\d+)`, "--jobs=3", "--output=/data/out", "--", "/data/runs with space"}
	if !slices.Equal(c.Args, want) || c.Image != "registry:5000/nsysmem:1" || c.Env[0].Name != "JOB_COMPLETIONS" || c.Env[0].Value != "7" || c.Resources.Requests.Cpu().Value() != 3 ||
		c.Resources.Limits.Memory().Value() != 4<<30 || c.VolumeMounts[0].Name != pod.Volumes[0].Name || pod.Volumes[0].PersistentVolumeClaim.ClaimName != "reports" {
		t.Errorf("container %+v", c)
	}
	if m := jobs[1].Spec.Template.Spec.Containers[0]; !slices.Equal(m.Args, []string{"batch", "merge", "--wait=24h", "--", "/data/out"}) || jobs[1].Name == jobs[0].Name {
		t.Errorf("merge %+v", m)
	}
}
