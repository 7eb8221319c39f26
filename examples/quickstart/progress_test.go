package main

import (
	"errors"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/examples/internal/program"
	"github.com/tofureg/tofureg/provider"
)

// TestProgress: a terminal shows one line, which is removed at the end. A file gets only resumed
// and restarted transfers.
func TestProgress(t *testing.T) {
	t.Parallel()
	events := []provider.Event{
		{Kind: provider.EventBytes, Total: 2e6},
		{Kind: provider.EventBytes, Bytes: 1e6, Total: 2e6},
		{Kind: provider.EventResumed, Bytes: 1e6, Total: 2e6},
		{Kind: provider.EventRestarted, Total: 2e6, Err: errors.New("it changed")},
		{Kind: provider.EventBytes, Bytes: 3e6},
	}
	const notes = "download   resumed at 1000000 bytes\n" +
		"download   restarted at 0 bytes: it changed\n"
	for tty, want := range map[bool]string{
		false: notes,
		true: "\r\x1b[Kdownload     0 % of 2.0 MB" +
			"\r\x1b[Kdownload    50 % of 2.0 MB" +
			"\r\x1b[Kdownload   resumed at 1000000 bytes\n" +
			"\r\x1b[Kdownload   restarted at 0 bytes: it changed\n" +
			"\r\x1b[Kdownload   3.0 MB" +
			"\r\x1b[K",
	} {
		var out strings.Builder
		d := &display{program.Line{W: &out, Terminal: tty}}
		for _, e := range events {
			d.show(e)
		}
		d.line.Clear()
		if out.String() != want {
			t.Errorf("terminal %v:\n%q, want\n%q", tty, &out, want)
		}
	}
}
