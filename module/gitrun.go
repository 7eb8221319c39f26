package module

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tofureg/tofureg/internal/fault"
	"github.com/tofureg/tofureg/internal/program"
	"github.com/tofureg/tofureg/internal/weburl"
)

// Limits for the output of git, in bytes.
const (
	maxGitOutput = 64 << 10 // standard output, except of streams
	maxGitText   = 2 << 10  // error messages
)

const (
	gitPause = 5 * time.Second // how long another program may keep the output of git open
	gitDelay = time.Second     // the same for messages, and how long git may take to end when it is killed
)

// run runs git and returns its output.
func (r *repository) run(ctx context.Context, args ...string) (string, error) {
	var out bytes.Buffer
	err := r.stream(ctx, func(in io.Reader) error {
		n, err := io.Copy(&out, io.LimitReader(in, maxGitOutput+1))
		if n > maxGitOutput {
			return fmt.Errorf("the output of git: %w", fault.ErrTooLarge)
		}
		return err
	}, args...)
	return out.String(), err
}

// stream runs git and calls read with its output. If read fails, git is killed.
func (r *repository) stream(ctx context.Context, read func(io.Reader) error, args ...string) error {
	inner, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	messages := &tail{max: maxGitText}
	answers, exit, err := r.start(inner, messages, args)
	if err != nil {
		return &gitError{args[0], "", notInstalled(err)}
	}
	defer answers.in.Close()
	defer context.AfterFunc(inner, func() { answers.wait() })()
	var watch sync.WaitGroup
	watch.Go(func() { r.watchSize(inner, cancel) })
	if err := read(answers); err != nil {
		cancel(err)
	}
	err = <-exit
	cause := context.Cause(inner)
	cancel(nil)
	watch.Wait()
	switch failed := r.failure(args[0], messages, err); {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil && errors.Is(failed, fault.ErrTooLarge): // read may have failed for lack of output
		return failed
	case cause != nil: // the error of read or watchSize
		return cause
	case err != nil && !errors.Is(err, exec.ErrWaitDelay): // git itself succeeded
		return failed
	}
	return nil
}

// start starts git. Its exit is sent to the channel.
func (r *repository) start(ctx context.Context, messages io.Writer, args []string) (*output, <-chan error, error) {
	in, out, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	cmd := r.command(ctx, args...)
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = out, messages, gitDelay
	group, err := program.Start(cmd, r.git.memory())
	out.Close()
	if err != nil {
		in.Close()
		return nil, nil, err
	}
	answers, exit := &output{ctx: ctx, in: in}, make(chan error, 1)
	go func() {
		err := cmd.Wait()
		group.Close()
		answers.end()
		exit <- err
	}()
	return answers, exit, nil
}

// output is the output of git. If another program keeps it open after git has ended, reading
// ends when it would block.
type output struct {
	ctx   context.Context
	in    *os.File
	ended atomic.Bool
}

func (o *output) Read(p []byte) (int, error) {
	if o.ended.Load() {
		o.wait() // again, for a slow reader
	}
	n, err := o.in.Read(p)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = io.EOF
	}
	return n, err
}

// end is called when git has ended.
func (o *output) end() {
	o.ended.Store(true)
	if o.wait() != nil { // on Windows
		time.AfterFunc(gitPause, func() { o.in.Close() })
	}
}

func (o *output) wait() error {
	deadline := time.Now()
	if o.ctx.Err() == nil {
		deadline = deadline.Add(gitPause)
	}
	return o.in.SetReadDeadline(deadline)
}

// watchSize cancels if the repository exceeds its limit. Git itself has no limit.
func (r *repository) watchSize(ctx context.Context, cancel context.CancelCauseFunc) {
	ticker := time.NewTicker(200 * time.Millisecond)
	defer ticker.Stop()
	for {
		if err := r.checkSize(); err != nil {
			cancel(err)
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

func (r *repository) checkSize() error {
	if sizeBelow(filepath.Join(r.dir, "objects")) > r.limit {
		return fmt.Errorf("the repository has more than %d bytes: %w", r.limit, fault.ErrTooLarge)
	}
	return nil
}

// sizeBelow returns the size of all readable files below dir.
func sizeBelow(dir string) int64 {
	var size int64
	filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return nil // the file is gone
		}
		// Unlike Lstat, d.Info is outdated on Windows for a file that is being written.
		if info, err := os.Lstat(path); err == nil && info.Mode().IsRegular() {
			size += info.Size()
		}
		return nil
	})
	return size
}

// failure returns the error for the messages of git.
func (r *repository) failure(verb string, t *tail, err error) error {
	text := t.text()
	kind := err
	for _, known := range gitMessages {
		if strings.Contains(strings.ToLower(text), known.text) {
			kind = known.kind
			break
		}
	}
	if memory := r.git.memory(); kind == fault.ErrTooLarge && memory > 0 {
		text += fmt.Sprintf(" (each program may use %d bytes of memory: set Git.Memory to change that)", memory)
	}
	return &gitError{verb, text, kind}
}

// gitMessages are parts of the messages of git, curl and SSH. LC_ALL makes them English.
var gitMessages = []struct {
	text string
	kind error
}{
	{"couldn't find remote ref", ErrNotFound},
	{"repository not found", ErrNotFound},
	{"does not appear to be a git repository", ErrNotFound},
	{"' does not exist", ErrNotFound},
	{"' not found", ErrNotFound},
	{"authentication failed", ErrUnauthorized},
	{"could not read username", ErrUnauthorized},
	{"could not read password", ErrUnauthorized},
	{"permission denied (", ErrUnauthorized}, // by SSH, with its methods
	{"access denied", ErrUnauthorized},
	{"returned error: 401", ErrUnauthorized},
	{"returned error: 403", ErrUnauthorized},
	{"' not allowed", ErrInsecure}, // transport 'http' not allowed
	{"out of memory", fault.ErrTooLarge},
	{"cannot allocate memory", fault.ErrTooLarge},
}

// notInstalled adds to err that the program is missing.
func notInstalled(err error) error {
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("the program is not installed: %w", err)
	}
	return err
}

// tail keeps the end of the text that is written to it.
type tail struct {
	max int
	buf []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.buf = append(t.buf, p[max(0, len(p)-t.max):]...)
	t.buf = t.buf[max(0, len(t.buf)-t.max):]
	return len(p), nil
}

// text returns the text in one line, without secrets.
func (t *tail) text() string {
	words := strings.Fields(strings.ToValidUTF8(string(t.buf), ""))
	for i, word := range words {
		words[i] = weburl.RedactText(word)
	}
	return weburl.Clean(strings.Join(words, " "), 500)
}
