// Package fault makes errors and their texts.
package fault

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Narrow returns an error with this text that wraps another error.
func Narrow(text string, wider error) error { return &narrow{text, wider} }

type narrow struct {
	text  string
	wider error
}

func (n *narrow) Error() string { return n.text }
func (n *narrow) Unwrap() error { return n.wider }

// Join is like [errors.Join], but the text ends after 20 errors or 16 KiB, with the number of the others. The first
// error is whole.
func Join(errs ...error) error {
	errs = slices.DeleteFunc(slices.Clone(errs), func(err error) bool { return err == nil })
	if len(errs) == 0 {
		return nil
	}
	return &joined{errs}
}

const (
	maxJoined = 20
	maxText   = 16 << 10
)

type joined struct{ errs []error }

func (j *joined) Error() string {
	text := j.errs[0].Error()
	for i, err := range j.errs[1:] {
		next := err.Error()
		if rest := len(j.errs) - i - 1; i+1 == maxJoined || len(text)+1+len(next) > maxText {
			return fmt.Sprintf("%s\nand %d more errors", text, rest)
		}
		text += "\n" + next
	}
	return text
}
func (j *joined) Unwrap() []error { return j.errs }

// ErrNoTime means that the deadline of a context, which has not ended, is before the next attempt.
var ErrNoTime = Narrow(context.DeadlineExceeded.Error(), context.DeadlineExceeded)

// Ended returns the error of a context that has ended. It wraps ctx.Err() and the cause.
func Ended(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if errors.Is(cause, err) {
		return cause
	}
	return fmt.Errorf("%w: %w", err, cause)
}

// Shown returns an invalid input for an error: without user information and query of a URL, and
// shortened to max bytes.
func Shown(input string, max int) string {
	input, _, _ = strings.Cut(input, "?")
	if i := strings.LastIndexByte(input, '@'); i >= 0 {
		scheme := ""
		if j := strings.Index(input[:i], "://"); j >= 0 {
			scheme = input[:j+len("://")]
		}
		input = scheme + "..." + input[i:]
	}
	return Shorten(input, max)
}

// Shorten returns s, or at most max bytes of it and "...".
func Shorten(s string, max int) string {
	if len(s) > max {
		s = strings.ToValidUTF8(s[:max], "") + "..."
	}
	return s
}

// Text returns the text of err. Names in errors of package os, which may name hostile files and
// links, are quoted and shortened there, if they are long or not printable.
func Text(err error) string { return named(err, err.Error()) }

// Printable returns err, or an error with the [Text] of err. If err is an error of package os, so is the
// result. Any other wraps err.
func Printable(err error) error {
	switch e := err.(type) {
	case nil:
		return nil
	case *fs.PathError:
		if name, inner := Name(e.Path), Printable(e.Err); name != e.Path || inner != e.Err {
			return &fs.PathError{Op: e.Op, Path: name, Err: inner}
		}
		return err
	case *os.LinkError:
		if from, to := Name(e.Old), Name(e.New); from != e.Old || to != e.New {
			return &os.LinkError{Op: e.Op, Old: from, New: to, Err: e.Err}
		}
		return err
	}
	text := err.Error()
	if shown := named(err, text); shown != text {
		return Narrow(shown, err)
	}
	return err
}

// named replaces the texts of errors of package os in the text of an error that wraps them.
func named(err error, text string) string {
	before, after := "", ""
	switch e := err.(type) {
	case *fs.PathError:
		before, after = e.Error(), e.Op+" "+Name(e.Path)+": "+named(e.Err, e.Err.Error())
	case *os.LinkError:
		before, after = e.Error(), e.Op+" "+Name(e.Old)+" "+Name(e.New)+": "+e.Err.Error()
	case interface{ Unwrap() error }:
		if inner := e.Unwrap(); inner != nil {
			return named(inner, text)
		}
	case interface{ Unwrap() []error }:
		for _, inner := range e.Unwrap() {
			text = named(inner, text)
		}
	}
	if before != after {
		text = strings.ReplaceAll(text, before, after)
	}
	return text
}

// Name returns the name of a file for an error: quoted and shortened if it is long or not printable.
func Name(name string) string {
	const max = 500
	if len(name) <= max && !strings.ContainsFunc(name, func(r rune) bool { return !strconv.IsPrint(r) }) {
		return name
	}
	return strconv.Quote(Shorten(name, max))
}

// Constraint returns the text of a version constraint for an error.
func Constraint(text string) string {
	if text == "" {
		return "(any release)"
	}
	return `"` + text + `"`
}

// Held is a version that is held back until it is old enough. Zero times are unknown.
type Held struct {
	Version     string
	Seen, Until time.Time
}

// HeldBack returns the text of an error: each version that a constraint allows is held back.
func HeldBack(constraint string, list []Held) string {
	const most, day = 20, "2006-01-02 15:04 UTC"
	text, remedy := "each version that matches "+Constraint(constraint)+" is held back until it is old enough: ", ""
	for i, h := range list {
		if i == most {
			text += fmt.Sprintf(", %d more", len(list)-most)
			break
		}
		if i > 0 {
			text += ", "
		}
		if h.Until.IsZero() {
			text += h.Version + " (seen at an unknown time)"
			remedy = "; the source states no date of it: use a cooldown.Ledger, or permit the version"
			continue
		}
		text += fmt.Sprintf("%s (seen %s, old enough %s)", h.Version, h.Seen.UTC().Format(day), h.Until.UTC().Format(day))
	}
	return text + remedy
}
