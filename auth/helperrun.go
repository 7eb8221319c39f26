package auth

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
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

// call runs the program once. For the verb "get" it returns the token in the answer; for
// "store" it passes token to the program.
func (h Helper) call(ctx context.Context, verb string, host svchost.Hostname, token Token) (found Token, err error) {
	inner, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if timeout := cmp.Or(h.Timeout, helperTimeout); timeout > 0 {
		var stop context.CancelFunc
		inner, stop = context.WithTimeoutCause(inner, timeout, fmt.Errorf("no answer within %v: %w", timeout, context.DeadlineExceeded))
		defer stop()
	}
	answer := &limitedBuffer{name: "output", exceeded: cancel}
	complaints := &limitedBuffer{name: "error output", exceeded: cancel}
	err = errRelative
	if filepath.IsAbs(h.Path) {
		cmd := h.command(inner, verb, host, token)
		cmd.Stdout, cmd.Stderr = answer, complaints
		err = cmd.Run()
		switch {
		case ctx.Err() != nil:
			err = fault.Ended(ctx)
		case inner.Err() != nil:
			err = context.Cause(inner) // out of time, or too much output
		case errors.Is(err, exec.ErrWaitDelay):
			err = errHeldOpen
		case err == nil && verb == "get":
			found, err = parseAnswer(answer.buf)
		}
		if err != nil && cmd.Process != nil {
			kill(cmd.Process)
		}
	}
	if err != nil {
		err = h.failed(verb, host, complaint(complaints.buf, complaints.full, token, answer.buf), err)
	}
	return found, err
}

// command returns the program. It is killed, with what it has started, when ctx ends.
func (h Helper) command(ctx context.Context, verb string, host svchost.Hostname, token Token) *exec.Cmd {
	cmd := exec.CommandContext(ctx, h.Path, slices.Concat(h.Args, []string{verb, host.String()})...)
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
	if !token.IsZero() {
		cmd.Stdin = bytes.NewReader(credentials(token))
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
