package findings

import (
	"fmt"

	"nsysmem/align"
	"nsysmem/internal/wording"
)

// NoGPU says that launches were traced and what they launched was not, why that is, and what to do. It is empty where GPU
// work was recorded, or nothing was launched.
//
// Under WSL the profiler sees the CPU's side of CUDA alone (github.com/pytorch/kineto/issues/762, and the limits of CUPTI in
// NVIDIA's CUDA on WSL User Guide); elsewhere the driver keeps GPU activity to administrators, which tools report as
// ERR_NVGPUCTRPERM or CUPTI_ERROR_INSUFFICIENT_PRIVILEGES (developer.nvidia.com/ERR_NVGPUCTRPERM), and containers may lack
// the capability.
func NoGPU(c *align.Collected) string {
	if c.Launches == 0 {
		return ""
	}
	how := "profile on Linux or Windows itself rather than in WSL; in a container, start it with --cap-add=SYS_ADMIN; or let the driver allow all users to profile (NVreg_RestrictProfilingToAdminUsers=0)"
	if !c.Memory {
		how += "; memory events (--cuda-memory-usage=true) come the same way"
	}
	return fmt.Sprintf("CUDA launches were traced (%s calls), GPU activity was not: as under WSL, in containers without CUPTI permissions (ERR_NVGPUCTRPERM), or beside another profiler: %s",
		wording.Count(c.Launches), how)
}
