package auth

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/internal/fault"
)

const (
	helperTimeout = 30 * time.Second
	// helperGrace is how long the output of a program may stay open after its
	// end. A pipeline that the program did not wait for ends within it.
	helperGrace = time.Second
	// maxHelperOutput bounds each of the two outputs.
	maxHelperOutput = 1 << 20
)

var (
	errRelative = errors.New("its path is not absolute")
	errHeldOpen = errors.New("it has ended, but a process that it started keeps its output open")
	errNoAnswer = errors.New("it answered nothing")
)

// A helperCall is one run of the program.
type helperCall struct {
	verb   string
	host   svchost.Hostname
	token  Token                     // to be written to the program, unless it is zero
	accept func(answer []byte) error // nil if the answer does not matter
}

// call runs the program once.
func (h Helper) call(ctx context.Context, c helperCall) error {
	inner, cancel := h.bound(ctx)
	defer cancel(nil)
	answer := &limitedBuffer{name: "output", exceeded: cancel}
	complaints := &limitedBuffer{name: "error output", exceeded: cancel}
	err := errRelative
	if filepath.IsAbs(h.Path) {
		cmd := h.command(inner, c)
		cmd.Stdout, cmd.Stderr = answer, complaints
		err = cmd.Run()
		switch {
		case ctx.Err() != nil:
			err = fault.Ended(ctx)
		case inner.Err() != nil:
			err = context.Cause(inner) // out of time, or too much output
		case errors.Is(err, exec.ErrWaitDelay):
			err = errHeldOpen
		case err == nil && c.accept != nil:
			err = c.accept(answer.buf)
		}
		if err != nil && cmd.Process != nil {
			kill(cmd.Process)
		}
	}
	if err == nil {
		return nil
	}
	said := complaint(complaints.buf, complaints.full, c.token, answer.buf)
	return &SourceError{Host: c.host, Source: h.String(), Err: &HelperError{Verb: c.verb, Stderr: said, Err: err}}
}

// bound returns the context for one run. Its cause tells why it ended.
func (h Helper) bound(ctx context.Context) (context.Context, context.CancelCauseFunc) {
	timeout := h.Timeout
	if timeout == 0 {
		timeout = helperTimeout
	}
	ctx, cancel := context.WithCancelCause(ctx)
	if timeout < 0 {
		return ctx, cancel
	}
	timer := time.AfterFunc(timeout, func() {
		cancel(fmt.Errorf("no answer within %v: %w", timeout, context.DeadlineExceeded))
	})
	return ctx, func(cause error) {
		timer.Stop()
		cancel(cause)
	}
}

// command returns the program. It is killed, with what it has started, when ctx ends.
func (h Helper) command(ctx context.Context, c helperCall) *exec.Cmd {
	cmd := exec.CommandContext(ctx, h.Path, slices.Concat(h.Args, []string{c.verb, c.host.String()})...)
	detach(cmd)
	cmd.Cancel = func() error {
		kill(cmd.Process)
		return nil
	}
	if h.Env != nil {
		// A slice that is not nil: an empty environment is not that of this process.
		cmd.Env = append([]string{}, h.Env()...)
	}
	cmd.WaitDelay = helperGrace
	if !c.token.IsZero() {
		cmd.Stdin = strings.NewReader(`{"token":` + quote(c.token.Reveal()) + `}`)
	}
	return cmd
}

// parseAnswer reads what the program wrote for get.
func parseAnswer(answer []byte) (Token, error) {
	if len(bytes.TrimSpace(answer)) == 0 {
		return Token{}, errNoAnswer
	}
	token, err := parseCredentials(answer)
	if err != nil {
		return Token{}, fmt.Errorf("the answer is of no use: %w", err)
	}
	return token, nil
}

// A limitedBuffer keeps up to maxHelperOutput bytes, and calls exceeded for the
// first one that is too many.
type limitedBuffer struct {
	name     string
	exceeded context.CancelCauseFunc
	buf      []byte
	full     bool // something is missing at the end
}

func (b *limitedBuffer) Write(p []byte) (int, error) {
	fits := min(len(p), maxHelperOutput-len(b.buf))
	b.buf = append(b.buf, p[:fits]...)
	if fits == len(p) {
		return len(p), nil
	}
	err := fmt.Errorf("%s of more than %d bytes: %w", b.name, maxHelperOutput, ErrTooLarge)
	b.full = true
	b.exceeded(err)
	return fits, err
}
