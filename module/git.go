package module

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tofureg/tofureg/internal/archive"
)

// Git tells how to run the git program to fetch from locations of KindGit. The zero
// Git runs the program that is found in the PATH.
//
// Only the files of one commit are fetched, without history, submodules or tags.
// Nothing is checked out: the files come as git's own archive and pass through the
// rules for archives; what attributes exclude from exports is there, too. So no hook
// runs, and no .git directory is left. The user's configuration of git holds, and
// with it credential helpers and replaced URLs, but line ends are never converted, so
// that the h1 is the same on each system. Git asks nobody for a password. It is
// killed with the programs that it runs when the context ends (on Windows the
// programs are left to themselves).
//
// Git may use https and SSH. User names and passwords do not get into errors, though
// as long as git runs they can be in the list of processes, if a location has any.
type Git struct {
	// Path is the program; empty: "git".
	Path string

	// Env is its environment, each as "KEY=VALUE"; nil: that of this process.
	// Variables that point git to another repository are left out, as are
	// those that make it trace.
	Env []string

	// AllowHTTP lets repositories be at http:// and git:// URLs, over which
	// others can change what comes.
	AllowHTTP bool
}

// gitError says why git failed.
type gitError struct {
	verb string
	text string // of the program, cleaned
	kind error  // a sentinel, or what os/exec says
}

func (e *gitError) Error() string {
	if e.text == "" {
		return "git " + e.verb + ": " + e.kind.Error()
	}
	return "git " + e.verb + ": " + e.text
}

func (e *gitError) Unwrap() error { return e.kind }

// repository is a bare repository in the stage.
type repository struct {
	git       *Git
	dir       string
	protocols []string
	limit     int64 // bytes of all that is fetched
}

// git fetches the commit that loc names.
func (j *job) git(ctx context.Context, loc *Location) (*pack, error) {
	u, err := url.Parse(loc.URL)
	if err != nil {
		return nil, refuse(loc.URL, "this is no URL")
	}
	if loc.SSHKey {
		return nil, errors.New("the location brings an SSH key of its own, which is not used; let git have one by its configuration")
	}
	r := &repository{git: j.o.Git, dir: j.stage.path("git"), limit: j.limits.Package}
	if r.protocols, err = j.o.Git.protocols(u.Scheme, j.o.AllowLocal); err != nil {
		return nil, err
	}
	if err := r.create(ctx, loc.URL); err != nil {
		return nil, err
	}
	defer os.RemoveAll(r.dir)
	commit, err := r.fetch(ctx, loc.Ref)
	if err != nil {
		return nil, err
	}
	modules, err := r.inspect(ctx, commit, j.limits.Entries)
	if err != nil {
		return nil, err
	}
	got, err := j.fill(func(root *os.Root) ([]archive.File, error) { return j.export(ctx, r, commit, root) })
	if err != nil {
		return nil, err
	}
	j.report.Commit = commit
	for _, name := range modules {
		j.skip(name)
	}
	slices.Sort(j.report.Skipped)
	return got, nil
}

// protocols returns the protocols that git may use, also where a server redirects it
// or where the user's configuration replaces the URL.
func (g *Git) protocols(scheme string, local bool) ([]string, error) {
	allowed := []string{"https", "ssh"}
	switch scheme {
	case "https", "ssh", "git+ssh", "ssh+git":
	case "http", "git":
		if !g.AllowHTTP {
			return nil, fmt.Errorf("the repository is at a %s URL, which only Git.AllowHTTP permits: %w", scheme, ErrInsecure)
		}
		return append(allowed, "http", "git"), nil
	case "file":
		if !local {
			return nil, fmt.Errorf("%w, which only Options.AllowLocal permits", ErrLocal)
		}
		return append(allowed, "file"), nil
	default:
		return nil, fmt.Errorf("the repository is at a URL that git is not allowed to use: %w", ErrInsecure)
	}
	return allowed, nil
}

// create makes the repository. The URL goes into its configuration, so that it is
// never an argument.
func (r *repository) create(ctx context.Context, address string) error {
	if err := os.Mkdir(r.dir, 0o700); err != nil {
		return err
	}
	if _, err := r.run(ctx, "init", "--quiet", "--bare", "--template="); err != nil {
		return err
	}
	quoted := strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(address)
	if err := appendFile(filepath.Join(r.dir, "config"), "[remote \"origin\"]\n\turl = \""+quoted+"\"\n"); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(r.dir, "info"), 0o700); err != nil {
		return err
	}
	// Of higher precedence than the files of the repository.
	return appendFile(filepath.Join(r.dir, "info", "attributes"), "* -export-ignore -export-subst\n")
}

func appendFile(path, text string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// fetch gets the commit that ref names, and tells its full name. First just that is
// asked for. A server need not hand out a commit by its name, and cannot find one by a
// part of it; then all branches and tags are fetched.
func (r *repository) fetch(ctx context.Context, ref string) (string, error) {
	if ref == "" {
		ref = "HEAD"
	}
	err := r.get(ctx, "--no-tags", "--depth=1", "--", "origin", ref)
	if err == nil {
		return r.resolve(ctx, "FETCH_HEAD")
	}
	if ctx.Err() != nil || !isCommit(ref) && !isDumb(err) {
		return "", err
	}
	if err := r.get(ctx, "--", "origin", "+refs/heads/*:refs/remotes/origin/*", "+refs/tags/*:refs/tags/*"); err != nil {
		return "", err
	}
	for _, name := range []string{ref, "refs/tags/" + ref, "refs/remotes/origin/" + ref} {
		if commit, err := r.resolve(ctx, name); err == nil {
			return commit, nil
		}
	}
	return "", &gitError{"fetch", fmt.Sprintf("there is no commit, branch or tag %q", ref), ErrNotFound}
}

// get runs git fetch.
func (r *repository) get(ctx context.Context, args ...string) error {
	if _, err := r.run(ctx, append([]string{"fetch", "--quiet"}, args...)...); err != nil {
		return err
	}
	return r.checkSize()
}

// isDumb reports whether the server only has files, no git of its own.
func isDumb(err error) bool {
	g, ok := errors.AsType[*gitError](err)
	return ok && strings.Contains(g.text, "dumb http")
}

// isCommit reports whether ref can be the name of a commit, or the start of one.
func isCommit(ref string) bool {
	return len(ref) >= 4 && len(ref) <= 64 && strings.Trim(strings.ToLower(ref), "0123456789abcdef") == ""
}

// resolve returns the full name of a commit.
func (r *repository) resolve(ctx context.Context, name string) (string, error) {
	out, err := r.run(ctx, "rev-parse", "--verify", "--quiet", name+"^{commit}")
	if err != nil {
		return "", err
	}
	commit := strings.TrimSpace(out)
	if len(commit) < 40 || !isCommit(commit) {
		return "", fmt.Errorf("git rev-parse: %.100q is no commit", commit)
	}
	return commit, nil
}

// inspect looks at the names in the commit, and returns the submodules.
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
				return fmt.Errorf("a name in the repository: %w", ErrTooLarge)
			}
			if entries++; entries > limit {
				return fmt.Errorf("more than %d files: %w", limit, ErrTooLarge)
			}
			mode, name, ok := strings.Cut(strings.TrimSuffix(string(line), "\x00"), "\t")
			if !ok || hasControlDir(name) {
				return fmt.Errorf("%w: the repository holds a file %.100q, which git itself forbids", ErrArchive, name)
			}
			if strings.HasPrefix(mode, "160000 ") && len(modules) < maxSkipped {
				modules = append(modules, name)
			}
		}
	}, "ls-tree", "-r", "-z", "--full-tree", commit)
	return modules, err
}

// hasControlDir reports whether an element of name is that of a directory in which git
// would take the repository for its own.
func hasControlDir(name string) bool {
	for elem := range strings.SplitSeq(name, "/") {
		if strings.EqualFold(elem, ".git") || strings.EqualFold(elem, "git~1") {
			return true
		}
	}
	return false
}

// export unpacks the files of a commit.
func (j *job) export(ctx context.Context, r *repository, commit string, root *os.Root) (files []archive.File, err error) {
	err = r.stream(ctx, func(out io.Reader) error {
		limits := archive.Limits(j.limits)
		limits.Package = -1 // the size of the tar is no limit, that of the content is
		files, err = archive.UnpackTar(ctx, out, archive.FormatTar, root, limits, archive.Options{Skip: j.skipper()})
		return err
	}, "archive", "--format=tar", commit)
	return files, err
}

// command prepares one run of git in the repository.
func (r *repository) command(ctx context.Context, args ...string) *exec.Cmd {
	program := r.git.Path
	if program == "" {
		program = "git"
	}
	cmd := exec.CommandContext(ctx, program, slices.Concat(gitSettings(), args)...)
	cmd.Dir = r.dir
	cmd.Env = r.git.Env
	cmd.Env = append(gitEnvironment(cmd.Environ(), r.protocols), "GIT_DIR="+r.dir)
	isolate(cmd)
	return cmd
}

// gitSettings come before the verb. They take precedence over all configuration.
func gitSettings() []string {
	var args []string
	for _, s := range []string{
		"core.hooksPath=" + os.DevNull,
		"core.attributesFile=" + os.DevNull,
		"core.fsmonitor=false",
		"core.autocrlf=false",
		"core.eol=lf",
		"core.quotePath=false",
		"protocol.ext.allow=never",
		"fetch.recurseSubmodules=false",
		"fetch.writeCommitGraph=false",
		"gc.auto=0",
		"maintenance.auto=false",
		"tar.umask=0022",
		"credential.interactive=false",
		// Over http, a transfer that stands still for this long has failed.
		"http.lowSpeedLimit=1",
		"http.lowSpeedTime=120",
	} {
		args = append(args, "-c", s)
	}
	return args
}

// gitEnvironment returns env without what would lead git elsewhere, and with what
// keeps it from asking and from using other protocols.
func gitEnvironment(env, protocols []string) []string {
	env = slices.DeleteFunc(slices.Clone(env), func(s string) bool {
		name, _, _ := strings.Cut(s, "=")
		return strings.HasPrefix(name, "GIT_TRACE") || slices.Contains([]string{
			"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES",
			"GIT_COMMON_DIR", "GIT_NAMESPACE", "GIT_PREFIX", "GIT_SHALLOW_FILE", "GIT_GRAFT_FILE", "GIT_REPLACE_REF_BASE",
			"GIT_TEMPLATE_DIR", "GIT_CURL_VERBOSE", "GIT_DEFAULT_HASH", "GIT_ATTR_SOURCE", "GIT_LITERAL_PATHSPECS",
		}, name)
	})
	return append(env,
		"GIT_ALLOW_PROTOCOL="+strings.Join(protocols, ":"),
		"GIT_TERMINAL_PROMPT=0",
		"GCM_INTERACTIVE=never",
		"GIT_NO_REPLACE_OBJECTS=1",
		"GIT_OPTIONAL_LOCKS=0",
		"LC_ALL=C",
		"LANGUAGE=",
	)
}
