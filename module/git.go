package module

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode"

	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/archive"
	"github.com/tofureg/tofureg/internal/fsx"
	"github.com/tofureg/tofureg/internal/program"
	"github.com/tofureg/tofureg/internal/weburl"
	"github.com/tofureg/tofureg/progress"
)

// Git runs git for locations of KindGit.
//
// It fetches the files of one commit over https or SSH, without submodules, and runs no hooks. It fetches the history
// only if the server does not give the commit alone, as for an abbreviated one. All fetched data counts towards
// Limits.Package. The h1 is the same on all systems, unless filters of the user change files, as Git LFS does.
//
// Git uses the user's configuration, including credential helpers, replaced URLs and filters. It never prompts for a
// password, but runs GIT_ASKPASS. Credentials in the location can appear in the list of processes.
//
// When the context ends, git and the programs that it started are killed. They get no signals from the terminal.
type Git struct {
	Path string // as in [exec.Command]; if empty, "git"

	Env []string // environment; if nil, it is inherited

	// AllowHTTP permits http:// and git:// URLs. Git sends credentials over http, too.
	AllowHTTP bool

	// Memory limits git and each program that it starts, in bytes, on Linux with /bin/sh and on Windows. If zero, 512
	// MiB; if negative, no limit.
	Memory int64

	// VetoHost is as in [github.com/tofureg/tofureg/transport.Settings], for the host of each repository URL, also
	// where the user's configuration replaces it. With it, git follows no redirects and runs no filters. Proxies,
	// credential helpers and SSH configuration are not checked.
	VetoHost func(host string) error
}

// protocols returns the protocols that git may use, also after redirects and replacements of
// the URL.
func (g *Git) protocols(scheme string) ([]string, error) {
	switch scheme {
	case "https", "ssh", "git+ssh", "ssh+git":
		return []string{"https", "ssh"}, nil
	case "file": // fetch has checked AllowLocal
		return []string{"https", "ssh", "file"}, nil
	case "http", "git":
		if g.AllowHTTP {
			return []string{"https", "ssh", "http", "git"}, nil
		}
		return nil, fmt.Errorf("the repository is at a %s URL, which only Git.AllowHTTP permits: %w", scheme, failure.ErrInsecure)
	}
	return nil, fmt.Errorf("the repository is at a URL that git is not allowed to use: %w", failure.ErrInsecure)
}

// veto calls VetoHost with the canonical form of the host of a repository.
func (g *Git) veto(u *url.URL) error {
	if g.VetoHost == nil || u.Scheme == "file" {
		return nil
	}
	host, _, err := svchost.Canonical(u)
	if err == nil && strings.ContainsFunc(u.Host, func(r rune) bool { return r > unicode.MaxASCII }) {
		err = errors.New("it is not in ASCII") // git converts it in another way
	}
	if err == nil {
		err = g.VetoHost(host)
	}
	if err != nil {
		return fmt.Errorf("host %q is not allowed: %w", weburl.Clean(strings.ToLower(u.Host), maxInput), err)
	}
	return nil
}

// repository is a bare repository in the staging directory.
type repository struct {
	git       *Git
	dir       string
	protocols []string
	limit     int64           // of all fetched data, in bytes
	meter     *progress.Meter // counts it

	attributes []string // files of the commit with attributes
}

// check returns an error unless git may use the URL of a repository.
func (g *Git) check(u *url.URL) error {
	if _, err := g.protocols(u.Scheme); err != nil {
		return err
	}
	return g.veto(u)
}

// repository returns a repository for loc that is not created yet.
func (g *Git) repository(loc *Location, s *staging, meter *progress.Meter) (*repository, error) {
	u, err := loc.parsedURL()
	if err != nil {
		return nil, err
	}
	if err := g.check(u); err != nil {
		return nil, err
	}
	s.trees++
	r := &repository{git: g, dir: filepath.Join(s.part.Path(), fmt.Sprintf("git%d", s.trees)), limit: s.limits.Package, meter: meter}
	r.protocols, err = g.protocols(u.Scheme)
	return r, err
}

// export makes a package of the commit that loc names.
func (g *Git) export(ctx context.Context, loc *Location, s *staging, meter *progress.Meter) (*unpacked, error) {
	r, err := g.repository(loc, s, meter)
	if err != nil {
		return nil, err
	}
	meter.Start(0)
	commit, err := r.clone(ctx, loc)
	if err != nil {
		return nil, err
	}
	meter.Finish()
	submodules, err := r.inspect(ctx, commit, s.limits.Entries)
	if err != nil {
		return nil, err
	}
	got, err := s.unpack(ctx, true, func(root *os.Root, o archive.Options) (files []archive.File, err error) {
		err = r.stream(ctx, func(out io.Reader) error {
			files, err = archive.UnpackTar(ctx, out, archive.FormatTar, root, o)
			return err
		}, "archive", "--format=tar", commit)
		return files, err
	})
	if err != nil {
		return nil, err
	}
	got.commit, got.filtered = commit, r.mayFilter(got.root)
	got.skip(submodules...)
	return got, nil
}

// maxAttributes is how many bytes of a file with attributes are searched.
const maxAttributes = 64 << 10

// mayFilter reports whether git may have applied a filter of the user's configuration to files of a package.
func (r *repository) mayFilter(root *os.Root) bool {
	return r.git.VetoHost == nil && slices.ContainsFunc(r.attributes, func(name string) bool {
		f, err := fsx.OpenRegularIn(root, filepath.FromSlash(name))
		if err != nil {
			return true
		}
		defer f.Close()
		data, err := io.ReadAll(io.LimitReader(f, maxAttributes+1))
		return err != nil || len(data) > maxAttributes || bytes.Contains(data, []byte("filter"))
	})
}

// clone creates the repository and fetches the commit that loc names. If the server hashes
// with SHA-256, which is known only from its error, clone starts again.
func (r *repository) clone(ctx context.Context, loc *Location) (string, error) {
	address, shallow := cutDepth(loc.URL)
	if err := r.create(ctx, address); err != nil {
		return "", err
	}
	commit, err := r.fetchCommit(ctx, loc.Ref, shallow)
	if !gitWrote(err, "mismatched algorithms") {
		return commit, err
	}
	r.dir += "-sha256"
	if err := r.create(ctx, address, "--object-format=sha256"); err != nil {
		return "", err
	}
	return r.fetchCommit(ctx, loc.Ref, shallow)
}

// commitOf asks the server for the commit that loc names. It returns "" if the server does not say, or if git may find
// another one.
func (g *Git) commitOf(ctx context.Context, loc *Location, s *staging) string {
	r, err := g.repository(loc, s, &progress.Meter{})
	address, shallow := cutDepth(loc.URL)
	if err != nil || r.create(ctx, address) != nil {
		return ""
	}
	args := []string{"ls-remote", "--quiet", "--", "origin"}
	var names []string
	for _, name := range namesOnServer(cmp.Or(loc.Ref, "HEAD"), shallow) {
		if name != "HEAD" && !strings.HasPrefix(name, "refs/") { // as git resolves it
			names = append(names, "refs/"+name, "refs/tags/"+name, "refs/heads/"+name)
			continue
		}
		names = append(names, name)
	}
	for _, name := range names {
		args = append(args, name, name+"^{}")
	}
	out, err := r.run(ctx, args...)
	if err != nil {
		return ""
	}
	commits := map[string]string{}
	for line := range strings.Lines(out) {
		commit, name, _ := strings.Cut(strings.TrimSpace(line), "	")
		commits[name] = commit
	}
	for _, name := range names {
		if commit := cmp.Or(commits[name+"^{}"], commits[name]); isObject(commit) {
			return commit
		}
	}
	return ""
}

// cutDepth returns the URL without the parameter depth, and whether it had one.
func cutDepth(address string) (without string, found bool) {
	without, query, _ := strings.Cut(address, "?")
	sep := "?"
	for pair := range strings.SplitSeq(query, "&") {
		name, _, _ := strings.Cut(pair, "=")
		if name, _ = url.QueryUnescape(name); name == "depth" {
			found = true
		} else if pair != "" {
			without += sep + pair
			sep = "&"
		}
	}
	return without, found
}

// create creates the repository. The URL is written to its configuration, so that it is never
// an argument.
func (r *repository) create(ctx context.Context, address string, options ...string) error {
	if err := os.Mkdir(r.dir, 0o700); err != nil {
		return err
	}
	if _, err := r.run(ctx, append([]string{"init", "--quiet", "--bare", "--template="}, options...)...); err != nil {
		return err
	}
	config, err := os.OpenFile(filepath.Join(r.dir, "config"), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	quoted := strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(address)
	_, err = config.WriteString("[remote \"origin\"]\n\turl = \"" + quoted + "\"\n")
	if err := errors.Join(err, config.Close()); err != nil {
		return err
	}
	// This file takes precedence over the attributes in the repository.
	attributes := "* -export-ignore -export-subst"
	if r.git.VetoHost != nil {
		attributes += " -filter"
	}
	info := filepath.Join(r.dir, "info")
	if err := os.MkdirAll(info, 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(info, "attributes"), []byte(attributes+"\n"), 0o600); err != nil {
		return err
	}
	if r.git.VetoHost == nil {
		return nil
	}
	// The user's configuration may replace the URL.
	text, err := r.run(ctx, "ls-remote", "--get-url", "origin")
	if text = strings.TrimSpace(text); err != nil || text == address {
		return err
	}
	loc, err := ParseLocation("git::" + sshURL(text))
	if err != nil {
		return fmt.Errorf("URL from insteadOf in the configuration of git: %w", err)
	}
	u, err := loc.parsedURL()
	if err != nil {
		return err
	}
	return r.git.veto(u)
}

// fetchCommit fetches the commit that ref names, and returns its full name. It first asks for this
// commit only. A server may refuse a commit by its name, and cannot find an abbreviated one;
// then it gets all branches and tags.
func (r *repository) fetchCommit(ctx context.Context, ref string, shallow bool) (string, error) {
	if ref == "" {
		ref = "HEAD"
	}
	var err error
	for _, name := range namesOnServer(ref, shallow) {
		err = r.runFetch(ctx, "--no-tags", "--depth=1", "--", "origin", name)
		if gitWrote(err, "dumb http") {
			// A plain file server has only the whole history.
			err = r.runFetch(ctx, "--no-tags", "--", "origin", name)
		}
		if err == nil {
			return r.resolve(ctx, ref, "FETCH_HEAD")
		}
		if ctx.Err() != nil || !errors.Is(err, failure.ErrNotFound) {
			break
		}
	}
	if ctx.Err() != nil || !isCommit(ref) && !(errors.Is(err, failure.ErrNotFound) && described.MatchString(ref)) {
		return "", err
	}
	if err := r.runFetch(ctx, "--", "origin", "+refs/heads/*:refs/remotes/origin/*", "+refs/tags/*:refs/tags/*"); err != nil {
		return "", err
	}
	for _, name := range []string{ref, "refs/tags/" + ref, "refs/remotes/origin/" + ref} {
		if commit, err := r.resolve(ctx, ref, name); err == nil {
			return commit, nil
		}
	}
	return "", &gitError{"fetch", fmt.Sprintf("no commit, branch or tag %q", ref), failure.ErrNotFound}
}

// described matches the names that git describe gives commits, such as v1.0.0-2-gabc1234.
var described = regexp.MustCompile(`^.+-[0-9]+-g[0-9a-f]{4,64}$`)

// namesOnServer returns what a ref of a clone can be on the server, in the order in which git checkout finds it:
// origin/NAME is the branch NAME, unless a tag has that name. With a depth, the CLI clones ref as a branch before it
// does so as a tag.
func namesOnServer(ref string, shallow bool) []string {
	branch := func(name string) string {
		if name == "HEAD" {
			return name
		}
		return "refs/heads/" + name
	}
	if name, ok := strings.CutPrefix(strings.TrimPrefix(ref, "refs/"), "remotes/origin/"); ok {
		return []string{branch(name), ref}
	}
	if name, ok := strings.CutPrefix(ref, "origin/"); ok {
		return []string{"refs/tags/" + ref, branch(name), ref}
	}
	if shallow && ref != "HEAD" && !strings.HasPrefix(ref, "refs/") && !isObject(ref) {
		return []string{"refs/heads/" + ref, ref}
	}
	return []string{ref}
}

// runFetch runs git fetch.
func (r *repository) runFetch(ctx context.Context, args ...string) error {
	if _, err := r.run(ctx, append([]string{"fetch", "--quiet"}, args...)...); err != nil {
		return err
	}
	return r.checkSize()
}

// gitWrote reports whether git wrote the text.
func gitWrote(err error, text string) bool {
	g, ok := errors.AsType[*gitError](err)
	return ok && strings.Contains(g.text, text)
}

// isCommit reports whether ref can be the name of a commit, possibly abbreviated.
func isCommit(ref string) bool {
	return len(ref) >= 4 && len(ref) <= 64 && strings.Trim(strings.ToLower(ref), "0123456789abcdef") == ""
}

// isObject reports whether ref can be the full name of a commit.
func isObject(ref string) bool { return isCommit(ref) && (len(ref) == 40 || len(ref) == 64) }

// resolve returns the full name of the commit that name in the repository means for ref. If ref is a
// full name, a server could have a branch with it: then the object must have that name.
func (r *repository) resolve(ctx context.Context, ref, name string) (string, error) {
	if isObject(ref) {
		object, err := r.run(ctx, "rev-parse", "--verify", "--quiet", name)
		if err != nil {
			return "", err
		}
		if !strings.EqualFold(strings.TrimSpace(object), ref) {
			return "", &gitError{"fetch", fmt.Sprintf("%q is a branch or tag, not a commit", ref), failure.ErrNotFound}
		}
	}
	out, err := r.run(ctx, "rev-parse", "--verify", "--quiet", name+"^{commit}")
	if err != nil {
		return "", err
	}
	commit := strings.TrimSpace(out)
	if len(commit) < 40 || !isCommit(commit) {
		return "", fmt.Errorf("git rev-parse: unexpected output %.100q", commit)
	}
	return commit, nil
}

// inspect checks the names in the commit, and returns the submodules.
func (r *repository) inspect(ctx context.Context, commit string, limit int) ([]string, error) {
	var modules []string
	entries := 0
	err := r.stream(ctx, func(out io.Reader) error {
		in := bufio.NewReaderSize(out, 64<<10)
		for {
			line, err := in.ReadSlice(0)
			if err == io.EOF && len(line) == 0 {
				return nil
			}
			if err != nil {
				return fmt.Errorf("name in the repository: %w", failure.ErrTooLarge)
			}
			if entries++; entries > limit {
				return fmt.Errorf("more than %d files: %w", limit, failure.ErrTooLarge)
			}
			mode, name, ok := strings.Cut(strings.TrimSuffix(string(line), "\x00"), "\t")
			if !ok || hasElement(name, isGitDir) {
				return fmt.Errorf("%w: file name %.100q in the repository", failure.ErrArchive, name)
			}
			if strings.HasPrefix(mode, "160000 ") && len(modules) < maxSkipped {
				modules = append(modules, name)
			}
			if path.Base(name) == ".gitattributes" {
				r.attributes = append(r.attributes, name)
			}
		}
	}, "ls-tree", "-r", "-z", "--full-tree", commit)
	return modules, err
}

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
			return fmt.Errorf("the output of git: %w", failure.ErrTooLarge)
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
	case err != nil && errors.Is(failed, failure.ErrTooLarge): // read may have failed for lack of output
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
	if size > r.meter.Bytes { // nobody else uses the meter while git runs
		r.meter.Advance(size, nil)
	}
	if size > r.limit {
		return fmt.Errorf("the repository has more than %d bytes: %w", r.limit, failure.ErrTooLarge)
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

// failure returns the error for the messages of git, in one line and without secrets.
func (r *repository) failure(verb string, messages *tail, err error) error {
	words := strings.Fields(strings.ToValidUTF8(string(messages.buf), ""))
	for i, word := range words {
		words[i] = weburl.RedactText(word)
	}
	text := weburl.Clean(strings.Join(words, " "), 500)
	kind := err
	for _, known := range gitMessages {
		if strings.Contains(strings.ToLower(text), known.text) {
			kind = known.kind
			break
		}
	}
	if memory := r.git.memory(); kind == failure.ErrTooLarge && memory > 0 {
		text += fmt.Sprintf(" (each program may use %d bytes of memory: set Git.Memory to change that)", memory)
	}
	return &gitError{verb, text, kind}
}

// gitMessages are parts of the messages of git, curl and SSH. LC_ALL makes them English.
var gitMessages = []struct {
	text string
	kind error
}{
	{"couldn't find remote ref", failure.ErrNotFound},
	{"repository not found", failure.ErrNotFound},
	{"does not appear to be a git repository", failure.ErrNotFound},
	{"' does not exist", failure.ErrNotFound},
	{"' not found", failure.ErrNotFound},
	{"authentication failed", failure.ErrUnauthorized},
	{"could not read username", failure.ErrUnauthorized},
	{"could not read password", failure.ErrUnauthorized},
	{"permission denied (", failure.ErrUnauthorized}, // by SSH, with its methods
	{"access denied", failure.ErrUnauthorized},
	{"returned error: 401", failure.ErrUnauthorized},
	{"returned error: 403", failure.ErrUnauthorized},
	{"' not allowed", failure.ErrInsecure}, // transport 'http' not allowed
	{"out of memory", failure.ErrTooLarge},
	{"cannot allocate memory", failure.ErrTooLarge},
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
