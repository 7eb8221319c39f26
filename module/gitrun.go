package module

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
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

// command prepares a run of git in the repository.
func (r *repository) command(ctx context.Context, args []string) *exec.Cmd {
	settings := []string{
		"core.hooksPath=" + os.DevNull,
		"core.attributesFile=" + os.DevNull,
		"core.fsmonitor=false",
		"core.autocrlf=false",
		"core.eol=lf",
		"core.longPaths=true", // on Windows
		"core.quotePath=false",
		"protocol.ext.allow=never",
		"fetch.recurseSubmodules=false",
		"fetch.writeCommitGraph=false",
		"gc.auto=0",
		// Hold no larger files in memory; unpack-objects, for small packs, would in old versions.
		"core.bigFileThreshold=16m",
		"fetch.unpackLimit=1",
		"core.deltaBaseCacheLimit=32m", // for each thread
		"pack.threads=2",
		"maintenance.auto=false",
		"tar.umask=0022",
		"init.defaultObjectFormat=sha1",
		"init.defaultRefFormat=files",
		// Abort a transfer over http after 120 seconds without data.
		"http.lowSpeedLimit=1",
		"http.lowSpeedTime=120",
	}
	if r.git.VetoHost != nil {
		// Ignore other servers that the server names for parts of the repository.
		settings = append(settings, "http.followRedirects=false", "fetch.uriProtocols=", "fetch.bundleURI=", "transfer.bundleURI=false", "promisor.acceptFromServer=none")
	}
	var all []string
	for _, s := range settings { // they take precedence over all configuration
		all = append(all, "-c", s)
	}
	git := cmp.Or(r.git.Path, "git")
	if filepath.Base(git) != git { // not in the PATH
		if path, err := absolute(git); err == nil {
			git = path // because it runs in another directory
		}
	}
	cmd := exec.CommandContext(ctx, git, append(all, args...)...)
	cmd.Dir = r.dir
	cmd.Env = r.git.Env
	cmd.Env = append(gitEnvironment(cmd.Environ(), r.protocols), "GIT_DIR="+r.dir)
	return cmd
}

// gitEnvironment returns env without variables that name another repository, and with
// variables that forbid prompts and other protocols.
func gitEnvironment(env, protocols []string) []string {
	env = slices.DeleteFunc(slices.Clone(env), func(s string) bool {
		name := variable(s)
		return strings.HasPrefix(name, "GIT_TRACE") || slices.Contains([]string{
			"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES",
			"GIT_COMMON_DIR", "GIT_NAMESPACE", "GIT_PREFIX", "GIT_SHALLOW_FILE", "GIT_GRAFT_FILE", "GIT_REPLACE_REF_BASE",
			"GIT_TEMPLATE_DIR", "GIT_CURL_VERBOSE", "GIT_DEFAULT_HASH", "GIT_ATTR_SOURCE", "GIT_LITERAL_PATHSPECS",
			"GIT_ICASE_PATHSPECS", "GIT_GLOB_PATHSPECS", "GIT_NOGLOB_PATHSPECS", "GIT_CONFIG", "GIT_IMPLICIT_WORK_TREE",
			"GIT_INTERNAL_SUPER_PREFIX", "GIT_QUARANTINE_PATH",
		}, name)
	})
	// An empty GIT_ASKPASS disables core.askPass and SSH_ASKPASS.
	for _, unless := range []string{"GIT_ASKPASS=", "SSH_ASKPASS_REQUIRE=never"} {
		if !slices.ContainsFunc(env, func(s string) bool { return variable(s) == variable(unless) }) {
			env = append(env, unless)
		}
	}
	return append(env,
		"GIT_ALLOW_PROTOCOL="+strings.Join(protocols, ":"),
		"GIT_TERMINAL_PROMPT=0",
		"GCM_INTERACTIVE=never",
		"GIT_NO_REPLACE_OBJECTS=1",
		"GIT_ATTR_NOSYSTEM=1",
		"GIT_OPTIONAL_LOCKS=0",
		"LC_ALL=C",
		"LANGUAGE=",
	)
}

// variable returns the name of the variable in s.
func variable(s string) string {
	name, _, _ := strings.Cut(s, "=")
	if runtime.GOOS == "windows" { // case does not count
		name = strings.ToUpper(name)
	}
	return name
}

// memory returns the limit, which is not positive if there is none.
func (g *Git) memory() int64 { return cmp.Or(g.Memory, 512<<20) }

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
	in, out, err := os.Pipe()
	if err != nil {
		return &gitError{args[0], "", err}
	}
	defer in.Close()
	messages := &tail{max: maxGitText}
	cmd := r.command(inner, args)
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = out, messages, gitDelay
	group, err := program.Start(cmd, r.git.memory())
	out.Close()
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("the program is not installed: %w", err)
	}
	if err != nil {
		return &gitError{args[0], "", err}
	}
	answers := &output{ctx: inner, in: in}
	defer context.AfterFunc(inner, func() { answers.wait() })()
	var watch sync.WaitGroup
	watch.Go(func() { r.watchSize(inner, cancel) })
	exit := make(chan error, 1)
	go func() {
		err := cmd.Wait()
		group.Close()
		answers.end()
		exit <- err
	}()
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
	var size int64 // of all readable files
	filepath.WalkDir(filepath.Join(r.dir, "objects"), func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return nil // the file is gone
		}
		// Unlike Lstat, the entry is outdated on Windows for a file that is being written.
		if info, err := os.Lstat(path); err == nil && info.Mode().IsRegular() {
			size += info.Size()
		}
		return nil
	})
	if size > r.limit {
		return fmt.Errorf("the repository has more than %d bytes: %w", r.limit, fault.ErrTooLarge)
	}
	return nil
}

// gitError describes a failed run of git.
type gitError struct {
	verb string
	text string // the output of git, cleaned
	kind error  // an error of this package, or of os/exec
}

func (e *gitError) Error() string {
	if e.text == "" {
		return "git " + e.verb + ": " + e.kind.Error()
	}
	return "git " + e.verb + ": " + e.text
}

func (e *gitError) Unwrap() error { return e.kind }

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
