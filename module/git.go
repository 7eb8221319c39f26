package module

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"unicode"

	"github.com/tofureg/tofureg/internal/archive"
	"github.com/tofureg/tofureg/internal/fault"
	"github.com/tofureg/tofureg/internal/weburl"
)

// Git runs the git program for locations of KindGit. The zero Git runs "git".
//
// Git fetches the files of one commit over https or SSH, without history, submodules and tags,
// and runs no hooks. Files with the attribute export-ignore are included. Only the
// repository's attributes convert line ends, so the h1 is the same on all systems.
//
// Git uses the user's configuration, including credential helpers, replaced URLs and filters.
// It never prompts for a password, but runs GIT_ASKPASS. The location's credentials never
// appear in errors, but can appear in the list of processes.
//
// When the context ends, git is killed with the programs that it started.
// They get no signals from the terminal: end the context on an interrupt, see
// [os/signal.NotifyContext].
type Git struct {
	// Path is the program, also a name in the PATH. If empty, it is "git".
	Path string

	// Env is the environment of git. If nil, it is inherited. Variables that name another
	// repository or enable tracing are removed.
	Env []string

	// AllowHTTP permits insecure http:// and git:// URLs.
	AllowHTTP bool

	// Memory limits the memory of git and of each program that it starts, in bytes. If zero, it
	// is 512 MiB; if negative, there is no limit. Beyond it the error is [github.com/tofureg/tofureg/failure.ErrTooLarge]. The limit
	// needs Linux and /bin/sh, or Windows.
	Memory int64

	// VetoHost, if not nil, is called with the host of each repository URL, also where the
	// user's configuration replaces it, see
	// [github.com/tofureg/tofureg/transport.Client.VetoHost]. An error refuses the repository.
	// Proxies, credential helpers and SSH configuration are not checked. With VetoHost, git
	// follows no redirects and runs no filters; files in git-lfs arrive as pointers.
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
		return nil, fmt.Errorf("the repository is at a %s URL, which only Git.AllowHTTP permits: %w", scheme, ErrInsecure)
	}
	return nil, fmt.Errorf("the repository is at a URL that git is not allowed to use: %w", ErrInsecure)
}

// veto calls VetoHost with the canonical form of the host of a repository.
func (g *Git) veto(u *url.URL) error {
	if g.VetoHost == nil || u.Scheme == "file" {
		return nil
	}
	host, _, err := weburl.Host(u)
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
	limit     int64 // of all fetched data, in bytes
}

// fetch makes a package of the commit that loc names.
func (g *Git) fetch(ctx context.Context, loc *Location, s *staging) (*unpacked, error) {
	u, err := loc.parsedURL()
	if err != nil {
		return nil, err
	}
	r := &repository{git: g, dir: filepath.Join(s.part.Path(), "git"), limit: s.limits.Package}
	if r.protocols, err = g.protocols(u.Scheme); err != nil {
		return nil, err
	}
	if err := g.veto(u); err != nil {
		return nil, err
	}
	commit, err := r.clone(ctx, loc)
	if err != nil {
		return nil, err
	}
	submodules, err := r.inspect(ctx, commit, s.limits.Entries)
	if err != nil {
		return nil, err
	}
	got, err := s.unpack(ctx, func(root *os.Root, o archive.Options) (files []archive.File, err error) {
		err = r.stream(ctx, func(out io.Reader) error {
			files, err = s.unpackPlain(ctx, out, root, o)
			return err
		}, "archive", "--format=tar", commit)
		return files, err
	})
	if err != nil {
		return nil, err
	}
	got.commit = commit
	got.skip(submodules...)
	return got, nil
}

// clone creates the repository and fetches the commit that loc names. If the server hashes
// with SHA-256, which is known only from its error, clone starts again.
func (r *repository) clone(ctx context.Context, loc *Location) (string, error) {
	if err := r.create(ctx, loc.URL); err != nil {
		return "", err
	}
	commit, err := r.fetch(ctx, loc.Ref)
	if !gitWrote(err, "mismatched algorithms") {
		return commit, err
	}
	r.dir += "-sha256"
	if err := r.create(ctx, loc.URL, "--object-format=sha256"); err != nil {
		return "", err
	}
	return r.fetch(ctx, loc.Ref)
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
	loc, err := ParseLocation("git::" + text)
	if err != nil {
		return fmt.Errorf("URL from insteadOf in the configuration of git: %w", err)
	}
	u, err := loc.parsedURL()
	if err != nil {
		return err
	}
	return r.git.veto(u)
}

// fetch fetches the commit that ref names, and returns its full name. It first asks for this
// commit only. A server may refuse a commit by its name, and cannot find an abbreviated one;
// then fetch gets all branches and tags.
func (r *repository) fetch(ctx context.Context, ref string) (string, error) {
	if ref == "" {
		ref = "HEAD"
	}
	err := r.runFetch(ctx, "--no-tags", "--depth=1", "--", "origin", ref)
	if gitWrote(err, "dumb http") {
		// A plain file server has only the whole history.
		err = r.runFetch(ctx, "--no-tags", "--", "origin", ref)
	}
	if err == nil {
		return r.resolve(ctx, ref, "FETCH_HEAD")
	}
	if ctx.Err() != nil || !isCommit(ref) {
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
	return "", &gitError{"fetch", fmt.Sprintf("no commit, branch or tag %q", ref), ErrNotFound}
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

// resolve returns the full name of the commit that name in the repository means for ref. If ref is a
// full name, a server could have a branch with it: then the object must have that name.
func (r *repository) resolve(ctx context.Context, ref, name string) (string, error) {
	if isCommit(ref) && (len(ref) == 40 || len(ref) == 64) {
		object, err := r.run(ctx, "rev-parse", "--verify", "--quiet", name)
		if err != nil {
			return "", err
		}
		if !strings.EqualFold(strings.TrimSpace(object), ref) {
			return "", &gitError{"fetch", fmt.Sprintf("%q is a branch or tag, not a commit", ref), ErrNotFound}
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
				return fmt.Errorf("name in the repository: %w", fault.ErrTooLarge)
			}
			if entries++; entries > limit {
				return fmt.Errorf("more than %d files: %w", limit, fault.ErrTooLarge)
			}
			mode, name, ok := strings.Cut(strings.TrimSuffix(string(line), "\x00"), "\t")
			if !ok || hasElement(name, isGitDir) {
				return fmt.Errorf("%w: file name %.100q in the repository", ErrArchive, name)
			}
			if strings.HasPrefix(mode, "160000 ") && len(modules) < maxSkipped {
				modules = append(modules, name)
			}
		}
	}, "ls-tree", "-r", "-z", "--full-tree", commit)
	return modules, err
}
