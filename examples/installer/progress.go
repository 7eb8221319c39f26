package main

import (
	"io"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/examples/program"
	"github.com/tofureg/tofureg/provider"
)

// display prints a line for each finished package. If w is a terminal, it also updates a last line
// with the progress.
type display struct {
	line        program.Line
	done, total int
	bytes       program.Bytes
}

// download is an archive in progress.
type download struct {
	provider addrs.Provider
	platform addrs.Platform
}

func newDisplay(w io.Writer, total int) *display {
	return &display{line: program.NewLine(w), total: total, bytes: program.Bytes{}}
}

func (d *display) show(e provider.Event) {
	switch e.Kind {
	case provider.EventBytes, provider.EventRestarted:
		d.bytes.Set(download{e.Provider, e.Platform}, e.Bytes, e.Total)
	case provider.EventInstalled:
		d.done++
		d.line.Print("installed  %s %s\n", e.Provider, e.Version)
	case provider.EventHashed:
		d.line.Print("hashed     %s %s for %s\n", e.Provider, e.Version, e.Platform)
	}
	d.line.Show("%d of %d providers, %s", d.done, d.total, d.bytes)
}
