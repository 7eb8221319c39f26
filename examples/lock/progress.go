package main

import (
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/tofureg/tofureg/provider"
)

// display shows the progress of all providers. On a terminal it updates one line. Otherwise it
// prints only failures of the store. It is safe for concurrent use.
type display struct {
	w     io.Writer
	tty   bool
	total int

	mu   sync.Mutex
	done int
}

func newDisplay(w io.Writer, total int) *display {
	return &display{w: w, tty: isTerminal(w), total: total}
}

func (d *display) show(e provider.Event) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch e.Kind {
	case provider.EventHashed:
		d.done++
	case provider.EventStoreFailed:
		d.clear()
		fmt.Fprintf(d.w, "store    %v\n", e.Err)
	}
	if d.tty {
		d.clear()
		fmt.Fprintf(d.w, "lock     %d of %d packages", d.done, d.total)
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
