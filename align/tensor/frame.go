package tensor

import (
	"fmt"
	"path"
	"strings"

	"nsysmem/torchmem"
)

// libraryFile matches files of installed packages and of Python itself.
func libraryFile(file string) bool {
	for _, s := range []string{"site-packages", "dist-packages", "/lib/python", "\\lib\\python", "<frozen", "/torch/"} {
		if strings.Contains(file, s) {
			return true
		}
	}
	return false
}

// Frame is the line of the program that a stack comes from: the innermost Python frame outside of installed packages,
// else the innermost Python frame. Folders are cut off, for they name users.
func Frame(stack []torchmem.Frame) string {
	pick := -1
	for i := range stack {
		if !strings.HasSuffix(stack[i].File, ".py") {
			continue
		}
		if pick < 0 {
			pick = i
		}
		if !libraryFile(stack[i].File) {
			pick = i
			break
		}
	}
	if pick < 0 {
		return ""
	}
	return frameText(&stack[pick])
}

func frameText(f *torchmem.Frame) string {
	return fmt.Sprintf("%s:%d %s", path.Base(strings.ReplaceAll(f.File, "\\", "/")), f.Line, f.Name)
}

// shortFrames is how many frames a short stack has.
const shortFrames = 6

func shortStack(stack []torchmem.Frame) string {
	var python, other []string
	for i := range stack {
		if f := &stack[i]; strings.HasSuffix(f.File, ".py") {
			if len(python) < shortFrames {
				python = append(python, frameText(f))
			}
		} else if len(other) < shortFrames {
			other = append(other, f.Name)
		}
	}
	if len(python) == 0 {
		python = other
	}
	return strings.Join(python, " < ")
}
