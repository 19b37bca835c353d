package canvas

import (
	"cmp"
	"io"
	"log"
	"os"
	"slices"
	"strings"

	tfont "github.com/go-text/typesetting/font"
	"github.com/go-text/typesetting/fontscan"
	"golang.org/x/image/font/opentype"
)

// installed are the fonts of this machine, best first.
type installed struct {
	found []fontscan.Footprint
	files map[string][]*opentype.Font // faces of the files read so far; nil where unreadable
}

// scanInstalled lists the installed fonts. It reads each of them, which takes a while: only pictures that need it pay.
// The scanner insists on writing an index; it goes to a temporary directory, never to the user's own.
func scanInstalled() *installed {
	in := &installed{files: map[string][]*opentype.Font{}}
	temporary.while(in.scan)
	return in
}

func (in *installed) scan() {
	dir, err := os.MkdirTemp("", "nsysmem-fonts-")
	if err != nil {
		return
	}
	defer func() { _ = os.RemoveAll(dir) }() // nothing can be done about a leftover
	found, err := fontscan.SystemFonts(log.New(io.Discard, "", 0), dir)
	if err != nil {
		return
	}
	in.found = append(in.found, found...) // the scanner's own list is shared
	slices.SortStableFunc(in.found, func(a, b fontscan.Footprint) int {
		return cmp.Or(cmp.Compare(penalty(a), penalty(b)), cmp.Compare(a.Location.File, b.Location.File),
			cmp.Compare(a.Location.Index, b.Location.Index))
	})
}

// penalty says how badly a font fits beside the built-in sans-serif.
func penalty(fp fontscan.Footprint) int {
	n := 0
	if fp.Aspect.Style != tfont.StyleNormal {
		n += 8
	}
	if fp.Aspect.Weight != tfont.WeightNormal {
		n += 4
	}
	family := strings.ToLower(fp.Family)
	if strings.Contains(family, "mono") || strings.Contains(family, "emoji") {
		n += 2
	}
	if !strings.Contains(family, "sans") && !strings.Contains(family, "gothic") && !strings.Contains(family, "hei") {
		n++
	}
	return n
}

// find is the best installed face that has r and passes ok; nil where there is none.
func (in *installed) find(r rune, ok func(*opentype.Font) bool) *opentype.Font {
	for _, fp := range in.found {
		if !fp.Runes.Contains(r) {
			continue
		}
		faces, read := in.files[fp.Location.File]
		if !read {
			faces, _ = readFontFile(fp.Location.File) // an unreadable font is one that does not have the character
			in.files[fp.Location.File] = faces
		}
		if i := int(fp.Location.Index); i < len(faces) && ok(faces[i]) {
			return faces[i]
		}
	}
	return nil
}
