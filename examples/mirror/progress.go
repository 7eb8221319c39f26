package main

import (
	"io"

	"github.com/tofureg/tofureg/examples/program"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/serve/mirrordir"
)

// display shows the progress in one line of a terminal. It shows nothing if w is not a terminal.
type display struct {
	line        program.Line
	done, total int
}

func newDisplay(w io.Writer, total int) *display {
	return &display{line: program.NewLine(w), total: total}
}

func (d *display) show(e provider.Event) {
	if e.Kind == provider.EventVerified || e.Kind == mirrordir.EventKept {
		d.done++
	}
	d.line.Show("mirror   %d of %d packages", d.done, d.total)
}
