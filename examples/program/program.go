// Package program starts and ends the example programs, all in the same way.
package program

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
)

// A UsageError is an error in the arguments.
type UsageError struct {
	Usage string // one or more lines that start with "usage: NAME"
	Err   error
}

// Error returns the text of Err.
func (e *UsageError) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *UsageError) Unwrap() error { return e.Err }

// Main runs a program until an interrupt, and ends the process: with code 0 after success or help, 1 after an
// error, and 2 after a [UsageError], whose usage it prints below the error.
func Main(name string, run func(ctx context.Context, args []string, out, terminal io.Writer) error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if err == nil || errors.Is(err, flag.ErrHelp) {
		return
	}
	fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
	if usage, ok := errors.AsType[*UsageError](err); ok {
		fmt.Fprintln(os.Stderr, usage.Usage)
		os.Exit(2)
	}
	os.Exit(1)
}

// Parse parses flags. For -help, it prints the usage and the flags to the terminal.
func Parse(flags *flag.FlagSet, args []string, usage string, terminal io.Writer) error {
	flags.SetOutput(io.Discard)
	err := flags.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		flags.SetOutput(terminal)
		fmt.Fprintln(terminal, usage)
		flags.PrintDefaults()
	}
	return err
}

// Wrong returns the [UsageError] for an error in the arguments, unless it is [flag.ErrHelp].
func Wrong(usage string, err error) error {
	if errors.Is(err, flag.ErrHelp) {
		return err
	}
	return &UsageError{usage, err}
}

// A Line is the last line of a terminal, which shows the progress. If W is not a terminal, there is no such line.
type Line struct {
	W        io.Writer
	Terminal bool
}

// NewLine returns a line of w, which may be a terminal.
func NewLine(w io.Writer) Line {
	file, ok := w.(*os.File)
	if !ok {
		return Line{W: w}
	}
	info, err := file.Stat()
	return Line{w, err == nil && info.Mode()&os.ModeCharDevice != 0}
}

// Print removes the line and prints text that stays.
func (l Line) Print(format string, args ...any) {
	l.Clear()
	fmt.Fprintf(l.W, format, args...)
}

// Show replaces the line.
func (l Line) Show(format string, args ...any) {
	if l.Terminal {
		l.Print(format, args...)
	}
}

// Clear removes the line.
func (l Line) Clear() {
	if l.Terminal {
		fmt.Fprint(l.W, "\r\x1b[K")
	}
}
