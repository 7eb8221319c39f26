package main

import (
	"io"

	"github.com/tofureg/tofureg/examples/program"
	"github.com/tofureg/tofureg/provider"
)

// display shows the progress of all providers. On a terminal it updates one line. Otherwise it
// prints only failures of the store.
type display struct {
	line        program.Line
	done, total int
}

func newDisplay(w io.Writer, total int) *display {
	return &display{line: program.NewLine(w), total: total}
}

func (d *display) show(e provider.Event) {
	switch e.Kind {
	case provider.EventHashed:
		d.done++
	case provider.EventStoreFailed:
		d.line.Print("store    %v\n", e.Err)
	}
	d.line.Show("lock     %d of %d packages", d.done, d.total)
}
