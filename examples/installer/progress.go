package main

import (
	"fmt"
	"io"
	"os"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/provider"
)

// display prints a line for each finished package. If w is a terminal, it also updates a last line
// with the progress.
type display struct {
	w           io.Writer
	tty         bool
	done, total int
	downloads   map[download]progress
}

// download is an archive in progress.
type (
	download struct {
		provider addrs.Provider
		platform addrs.Platform
	}
	progress struct{ bytes, total int64 }
)

func newDisplay(w io.Writer, total int) *display {
	return &display{w: w, tty: isTerminal(w), total: total, downloads: map[download]progress{}}
}

func (d *display) show(e provider.Event) {
	d.clear()
	switch e.Kind {
	case provider.EventBytes, provider.EventRestarted:
		d.downloads[download{e.Provider, e.Platform}] = progress{e.Bytes, max(e.Bytes, e.Total)}
	case provider.EventInstalled:
		d.done++
		fmt.Fprintf(d.w, "installed  %s %s\n", e.Provider, e.Version)
	case provider.EventHashed:
		fmt.Fprintf(d.w, "hashed     %s %s for %s\n", e.Provider, e.Version, e.Platform)
	}
	if d.tty {
		var sum progress
		for _, p := range d.downloads {
			sum.bytes, sum.total = sum.bytes+p.bytes, sum.total+p.total
		}
		fmt.Fprintf(d.w, "%d of %d providers, %.1f of %.1f MB", d.done, d.total, float64(sum.bytes)/1e6, float64(sum.total)/1e6)
	}
}

// clear clears the last line.
func (d *display) clear() {
	if d.tty {
		fmt.Fprint(d.w, "\r\x1b[K")
	}
}

func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
