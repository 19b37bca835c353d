package main

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"nsysmem/render/plot"
)

// pictureEndings are the kinds of pictures, by the ending of the file.
var pictureEndings = []string{".png", ".svg", ".pdf"}

// pictureFlags are the flags that all commands share which draw.
type pictureFlags struct {
	out     output
	size    string       // as the user gave it
	picture plot.Options // what is drawn and how
	ending  string       // of pictures; empty where -o names no file
}

// flags adds the flags of the picture's looks. What it is of is the command's own.
func (f *pictureFlags) flags(cmd *cobra.Command, size, title string) {
	g := cmd.Flags()
	g.StringVar(&f.size, "size", "", size)
	g.IntVar(&f.picture.DPI, "dpi", 0, "dots an inch, which sets how large text is; default 100")
	g.StringVar(&f.picture.Font, "font", "", "font `file` for characters that the built-in font lacks")
	g.StringVar(&f.picture.Title, "title", "", title)
}

// parseSize checks size and resolution, which bound each other: a picture has to fit into memory.
func (f *pictureFlags) parseSize() (err error) {
	if f.size != "" {
		if f.picture.Size, err = plot.ParseSize(f.size); err != nil {
			return usage("--size: %v", err)
		}
	}
	if err := plot.CheckSize(f.picture); err != nil {
		return usage("--size, --dpi: %v", bare{err})
	}
	return nil
}

// parseEnding reads the kind of picture from the name of its file.
func (f *pictureFlags) parseEnding() error {
	if f.out.path == "" || isFolder(f.out.path) {
		return nil
	}
	f.ending = strings.ToLower(filepath.Ext(f.out.path))
	if !slices.Contains(pictureEndings, f.ending) {
		return usage("-o %q: the name must end in .png, .svg or .pdf", f.out.path)
	}
	return nil
}
