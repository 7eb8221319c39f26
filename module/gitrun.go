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

	"github.com/tofureg/tofureg/internal/weburl"
)

// Limits for what git says.
const (
	maxGitOutput = 64 << 10 // bytes of the answer to a question
	maxGitText   = 2 << 10  // bytes of its complaints
)

// gitPause is how long git may take to end after it has been killed, or its output
// may stay open in another program's hands.
const gitPause = 5 * time.Second

// run runs git and returns what it writes.
func (r *repository) run(ctx context.Context, args ...string) (string, error) {
	var out bytes.Buffer
	err := r.stream(ctx, func(in io.Reader) error {
		n, err := io.Copy(&out, io.LimitReader(in, maxGitOutput+1))
		if n > maxGitOutput {
			return fmt.Errorf("the output of git: %w", ErrTooLarge)
		}
		return err
	}, args...)
	return out.String(), err
}

// stream runs git and has read take what it writes. If read fails, git is killed.
func (r *repository) stream(ctx context.Context, read func(io.Reader) error, args ...string) error {
	inner, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	complaints := &tail{max: maxGitText}
	answers, exit, err := r.start(inner, complaints, args)
	if err != nil {
		return &gitError{args[0], "", notInstalled(err)}
	}
	defer answers.in.Close()
	var watch sync.WaitGroup
	watch.Go(func() { r.watch(inner, cancel) })
	if err := read(answers); err != nil {
		cancel(err)
	}
	err = <-exit
	cause := context.Cause(inner)
	cancel(nil)
	watch.Wait()
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case cause != nil: // what the reader or the watch said
		return cause
	case err != nil && !errors.Is(err, exec.ErrWaitDelay): // which says that git succeeded
		return r.complaint(args[0], complaints, err)
	}
	return nil
}

// start starts git. How it ends goes to exit.
func (r *repository) start(ctx context.Context, complaints io.Writer, args []string) (*answer, <-chan error, error) {
	in, out, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	cmd := r.command(ctx, args...)
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = out, complaints, gitPause
	err = cmd.Start()
	out.Close()
	if err != nil {
		in.Close()
		return nil, nil, err
	}
	answers, exit := &answer{in: in}, make(chan error, 1)
	go func() {
		err := cmd.Wait()
		answers.end()
		exit <- err
	}()
	return answers, exit, nil
}

// answer reads what git writes. As soon as git has ended, all of that is there; if another
// program still has the other end open, the answer ends where it would have to be waited
// for.
type answer struct {
	in    *os.File
	ended atomic.Bool
}

func (a *answer) Read(p []byte) (int, error) {
	if a.ended.Load() {
		a.wait() // from now on: the reader may have been slow
	}
	n, err := a.in.Read(p)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = io.EOF
	}
	return n, err
}

// end tells that git has ended.
func (a *answer) end() {
	a.ended.Store(true)
	if a.wait() != nil { // on Windows
		time.AfterFunc(gitPause, func() { a.in.Close() })
	}
}

func (a *answer) wait() error { return a.in.SetReadDeadline(time.Now().Add(gitPause)) }

// watch cancels when more has been fetched than may be. Git itself has no limit.
func (r *repository) watch(ctx context.Context, cancel context.CancelCauseFunc) {
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
		return fmt.Errorf("the repository has more than %d bytes: %w", r.limit, ErrTooLarge)
	}
	return nil
}

// sizeBelow returns the size of all files below dir, as far as they can be seen.
func sizeBelow(dir string) int64 {
	var size int64
	filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return nil // files come and go
		}
		// Not d.Info: Windows tells the size of a file that is being written only to who
		// asks for the file itself.
		if info, err := os.Lstat(path); err == nil && info.Mode().IsRegular() {
			size += info.Size()
		}
		return nil
	})
	return size
}

// complaint makes an error of what git wrote when it failed.
func (r *repository) complaint(verb string, t *tail, err error) error {
	text := t.text()
	kind := err
	for _, known := range gitTexts {
		if strings.Contains(strings.ToLower(text), known.text) {
			kind = known.kind
			break
		}
	}
	return &gitError{verb, text, kind}
}

// gitTexts are parts of what git, curl and SSH say, in English as they are told to.
var gitTexts = []struct {
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
	{"permission denied (", ErrUnauthorized}, // and the methods that SSH tried
	{"access denied", ErrUnauthorized},
	{"returned error: 401", ErrUnauthorized},
	{"returned error: 403", ErrUnauthorized},
	{"' not allowed", ErrInsecure}, // transport 'http' not allowed
}

// notInstalled names the program that is missing.
func notInstalled(err error) error {
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("the program is not installed: %w", err)
	}
	return err
}

// tail keeps the end of what is written to it.
type tail struct {
	max int
	buf []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.buf = append(t.buf, p[max(0, len(p)-t.max):]...)
	t.buf = t.buf[max(0, len(t.buf)-t.max):]
	return len(p), nil
}

// text returns it in one line, without what may be secret.
func (t *tail) text() string {
	words := strings.Fields(strings.ToValidUTF8(string(t.buf), ""))
	for i, word := range words {
		words[i] = weburl.RedactText(word)
	}
	return weburl.Clean(strings.Join(words, " "), 500)
}
