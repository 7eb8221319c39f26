package main

import (
	"io"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/examples/internal/program"
	"github.com/tofureg/tofureg/provider"
)

// display prints a line for each finished package. If w is a terminal, it also updates a last line
// with the progress.
type display struct {
	line        program.Line
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
	return &display{line: program.NewLine(w), total: total, downloads: map[download]progress{}}
}

func (d *display) show(e provider.Event) {
	switch e.Kind {
	case provider.EventBytes, provider.EventRestarted:
		d.downloads[download{e.Provider, e.Platform}] = progress{e.Bytes, max(e.Bytes, e.Total)}
	case provider.EventInstalled:
		d.done++
		d.line.Print("installed  %s %s\n", e.Provider, e.Version)
	case provider.EventHashed:
		d.line.Print("hashed     %s %s for %s\n", e.Provider, e.Version, e.Platform)
	}
	var sum progress
	for _, p := range d.downloads {
		sum.bytes, sum.total = sum.bytes+p.bytes, sum.total+p.total
	}
	d.line.Show("%d of %d providers, %.1f of %.1f MB", d.done, d.total, float64(sum.bytes)/1e6, float64(sum.total)/1e6)
}
