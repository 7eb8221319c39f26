package main

import (
	"fmt"
	"io"
	"os"

	"github.com/tofureg/tofureg/provider"
)

// display shows the progress of a download. On a terminal it updates one line. Otherwise it prints
// only resumed and restarted transfers.
type display struct {
	w   io.Writer
	tty bool
}

func newDisplay(w io.Writer) *display { return &display{w, isTerminal(w)} }

func (d *display) show(e provider.Event) {
	switch e.Kind {
	case provider.EventResumed, provider.EventRestarted:
		d.clear()
		fmt.Fprintf(d.w, "download   %s at %d bytes", e.Kind, e.Bytes)
		if e.Err != nil {
			fmt.Fprintf(d.w, ": %v", e.Err)
		}
		fmt.Fprintln(d.w)
	case provider.EventBytes:
		if !d.tty {
			return
		}
		d.clear()
		if e.Total > 0 {
			fmt.Fprintf(d.w, "download   %3d %% of %.1f MB", e.Bytes*100/e.Total, float64(e.Total)/1e6)
		} else {
			fmt.Fprintf(d.w, "download   %.1f MB", float64(e.Bytes)/1e6)
		}
	}
}

// clear removes the line.
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
