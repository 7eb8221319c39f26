package module

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/tofureg/tofureg/internal/archive"
	"github.com/tofureg/tofureg/internal/fault"
)

// repository is a bare repository in the staging directory.
type repository struct {
	git       *Git
	dir       string
	protocols []string
	limit     int64 // of all fetched data, in bytes
}

// fetchGit fetches the commit that loc names.
func (j *job) fetchGit(ctx context.Context, loc *Location) (*unpacked, error) {
	u, err := loc.parsedURL()
	if err != nil {
		return nil, err
	}
	r := &repository{git: j.o.Git, dir: j.staging.path("git"), limit: j.limits.Package}
	if r.protocols, err = j.o.Git.protocols(u.Scheme); err != nil {
		return nil, err
	}
	if err := j.o.Git.veto(u); err != nil {
		return nil, err
	}
	commit, err := r.clone(ctx, loc)
	if err != nil {
		return nil, err
	}
	modules, err := r.inspect(ctx, commit, j.limits.Entries)
	if err != nil {
		return nil, err
	}
	got, err := j.unpack(ctx, func(root *os.Root) ([]archive.File, error) { return j.export(ctx, r, commit, root) })
	if err != nil {
		return nil, err
	}
	j.report.Commit = commit
	for _, name := range modules {
		j.skip(name)
	}
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
	quoted := strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(address)
	if err := appendFile(filepath.Join(r.dir, "config"), "[remote \"origin\"]\n\turl = \""+quoted+"\"\n"); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(r.dir, "info"), 0o700); err != nil {
		return err
	}
	// This file takes precedence over the attributes in the repository.
	attributes := "* -export-ignore -export-subst"
	if r.git.VetoHost != nil {
		attributes += " -filter"
	}
	if err := appendFile(filepath.Join(r.dir, "info", "attributes"), attributes+"\n"); err != nil {
		return err
	}
	return r.vetoReplaced(ctx, address)
}

// vetoReplaced calls VetoHost for the URL by which the user's configuration replaces address,
// if any.
func (r *repository) vetoReplaced(ctx context.Context, address string) error {
	if r.git.VetoHost == nil {
		return nil
	}
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

func appendFile(path, text string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
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
		return r.resolveRef(ctx, ref, "FETCH_HEAD")
	}
	if ctx.Err() != nil || !isCommit(ref) {
		return "", err
	}
	if err := r.runFetch(ctx, "--", "origin", "+refs/heads/*:refs/remotes/origin/*", "+refs/tags/*:refs/tags/*"); err != nil {
		return "", err
	}
	for _, name := range []string{ref, "refs/tags/" + ref, "refs/remotes/origin/" + ref} {
		if commit, err := r.resolveRef(ctx, ref, name); err == nil {
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

// resolveRef returns the full name of the commit that name in the repository means for ref. If ref is a
// full name, a server could have a branch with it: then the object must have that name.
func (r *repository) resolveRef(ctx context.Context, ref, name string) (string, error) {
	if isCommit(ref) && (len(ref) == 40 || len(ref) == 64) {
		object, err := r.run(ctx, "rev-parse", "--verify", "--quiet", name)
		if err != nil {
			return "", err
		}
		if !strings.EqualFold(strings.TrimSpace(object), ref) {
			return "", &gitError{"fetch", fmt.Sprintf("%q is a branch or tag, not a commit", ref), ErrNotFound}
		}
	}
	return r.resolve(ctx, name)
}

// resolve returns the full name of a commit.
func (r *repository) resolve(ctx context.Context, name string) (string, error) {
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
			if !ok || controlDir(name, isGitDir) != "" {
				return fmt.Errorf("%w: file name %.100q in the repository", ErrArchive, name)
			}
			if strings.HasPrefix(mode, "160000 ") && len(modules) < maxSkipped {
				modules = append(modules, name)
			}
		}
	}, "ls-tree", "-r", "-z", "--full-tree", commit)
	return modules, err
}

// export unpacks the files of a commit.
func (j *job) export(ctx context.Context, r *repository, commit string, root *os.Root) (files []archive.File, err error) {
	err = r.stream(ctx, func(out io.Reader) error {
		files, err = j.plainTar(ctx, out, root)
		return err
	}, "archive", "--format=tar", commit)
	return files, err
}
