package main

import (
	"fmt"
	"io"
	"os"

	"github.com/tofureg/tofureg/provider"
)

// progress returns a callback that keeps one line up to date where w is a
// terminal, and says nothing but what went wrong where it is not.
func progress(w io.Writer) func(provider.Event) {
	tty := isTerminal(w)
	return func(e provider.Event) {
		switch {
		case e.Kind == provider.EventResumed || e.Kind == provider.EventRestarted:
			fmt.Fprintf(w, "download   %s at %d bytes: %v\n", e.Kind, e.Bytes, e.Err)
		case !tty:
		case e.Kind == provider.EventVerified:
			fmt.Fprint(w, "\r\x1b[K")
		case e.Total > 0:
			fmt.Fprintf(w, "\rdownload   %3d %% of %.1f MB\x1b[K", e.Bytes*100/e.Total, float64(e.Total)/1e6)
		default:
			fmt.Fprintf(w, "\rdownload   %.1f MB\x1b[K", float64(e.Bytes)/1e6)
		}
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
