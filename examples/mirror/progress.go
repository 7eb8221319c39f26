package main

import (
	"fmt"
	"io"
	"os"

	"github.com/tofureg/tofureg/mirrorclient/mirrordir"
	"github.com/tofureg/tofureg/provider"
)

// display shows the progress in one line of a terminal. It shows nothing if w is not a terminal.
type display struct {
	w           io.Writer
	tty         bool
	done, total int
}

func newDisplay(w io.Writer, total int) *display {
	return &display{w: w, tty: isTerminal(w), total: total}
}

func (d *display) show(e provider.Event) {
	if e.Kind == provider.EventVerified || e.Kind == mirrordir.EventKept {
		d.done++
	}
	if d.tty {
		d.clear()
		fmt.Fprintf(d.w, "mirror   %d of %d packages", d.done, d.total)
	}
}

// clear clears the line.
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
