package auth

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/internal/fault"
	"github.com/tofureg/tofureg/internal/program"
)

const (
	helperTimeout = 30 * time.Second
	// helperGrace is the time in which the output must be closed after the end of the
	// program. A pipeline in the background needs it.
	helperGrace = time.Second
	// maxHelperOutput is the maximum size of each output in bytes.
	maxHelperOutput = 1 << 20
)

var (
	errRelative = errors.New("its path is not absolute")
	errHeldOpen = errors.New("it has ended, but a child process keeps its output open")
	errNoAnswer = errors.New("empty answer")
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
	stderr := &limitedBuffer{name: "error output", exceeded: cancel}
	err = errRelative
	if filepath.IsAbs(h.Path) {
		cmd := h.command(inner, verb, host, token)
		cmd.Stdout, cmd.Stderr = answer, stderr
		group, started := program.Start(cmd, 0)
		if err = started; err == nil {
			defer group.Close()
			err = cmd.Wait()
		}
		switch {
		case ctx.Err() != nil:
			err = fault.Ended(ctx)
		case inner.Err() != nil:
			err = context.Cause(inner) // the timeout, or too much output
		case errors.Is(err, exec.ErrWaitDelay):
			err = errHeldOpen
		case errors.Is(err, exec.ErrNotFound): // on Windows
			err = &fs.PathError{Op: "run", Path: h.Path, Err: fs.ErrNotExist}
		case err == nil && verb == "get":
			found, err = parseAnswer(answer.buf)
		}
		if err != nil && group != nil {
			_ = group.Kill()
		}
	}
	if err != nil {
		err = h.failed(verb, host, cleanStderr(stderr.buf, stderr.full, token, answer.buf), err)
	}
	return found, err
}

// command returns the command for a run.
func (h Helper) command(ctx context.Context, verb string, host svchost.Hostname, token Token) *exec.Cmd {
	cmd := exec.CommandContext(ctx, h.Path, slices.Concat(h.Args, []string{verb, host.String()})...)
	if h.Env != nil {
		// Not nil: for exec, nil is the environment of this process.
		cmd.Env = append([]string{}, h.Env()...)
	}
	cmd.WaitDelay = helperGrace
	if !token.IsZero() {
		cmd.Stdin = bytes.NewReader(credentials(token))
	}
	return cmd
}

// parseAnswer reads the output of get.
func parseAnswer(answer []byte) (Token, error) {
	if len(bytes.TrimSpace(answer)) == 0 {
		return Token{}, errNoAnswer
	}
	token, err := parseCredentials(answer)
	if err != nil {
		return Token{}, fmt.Errorf("invalid answer: %w", err)
	}
	return token, nil
}

// A limitedBuffer stores up to maxHelperOutput bytes, and calls exceeded if there are more.
type limitedBuffer struct {
	name     string
	exceeded context.CancelCauseFunc
	buf      []byte
	full     bool // the end of the output is missing
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
