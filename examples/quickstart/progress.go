package main

import (
	"fmt"
	"io"

	"github.com/tofureg/tofureg/examples/program"
	"github.com/tofureg/tofureg/progress"
)

// display shows the progress of a download. On a terminal it updates one line. Otherwise it prints
// only resumed and restarted transfers.
type display struct {
	line program.Line
}

func newDisplay(w io.Writer) *display { return &display{program.NewLine(w)} }

func (d *display) show(e progress.Event) {
	switch e.Kind {
	case progress.Resumed, progress.Restarted:
		reason := ""
		if e.Err != nil {
			reason = fmt.Sprintf(": %v", e.Err)
		}
		d.line.Print("download   %s at %d bytes%s\n", e.Kind, e.Bytes, reason)
	case progress.Bytes:
		if e.Total > 0 {
			d.line.Show("download   %3d %% of %.1f MB", e.Bytes*100/e.Total, float64(e.Total)/1e6)
		} else {
			d.line.Show("download   %.1f MB", float64(e.Bytes)/1e6)
		}
	}
}
