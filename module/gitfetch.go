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
)

// repository is a bare repository in the stage.
type repository struct {
	git       *Git
	dir       string
	protocols []string
	limit     int64 // bytes of all that is fetched
}

// git fetches the commit that loc names.
func (j *job) git(ctx context.Context, loc *Location) (*pack, error) {
	u, err := loc.parsed()
	if err != nil {
		return nil, err
	}
	r := &repository{git: j.o.Git, dir: j.stage.path("git"), limit: j.limits.Package}
	if r.protocols, err = j.o.Git.protocols(u.Scheme); err != nil {
		return nil, err
	}
	if err := j.o.Git.veto(u); err != nil {
		return nil, err
	}
	defer os.RemoveAll(r.dir)
	commit, err := r.clone(ctx, loc)
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
	return got, nil
}

// clone makes the repository, and fetches what loc names into it. Which algorithm the
// other side hashes with is only known when it refuses ours.
func (r *repository) clone(ctx context.Context, loc *Location) (string, error) {
	if err := r.create(ctx, loc.URL); err != nil {
		return "", err
	}
	commit, err := r.fetch(ctx, loc.Ref)
	if !complains(err, "mismatched algorithms") {
		return commit, err
	}
	if err := os.RemoveAll(r.dir); err != nil {
		return "", err
	}
	if err := r.create(ctx, loc.URL, "--object-format=sha256"); err != nil {
		return "", err
	}
	return r.fetch(ctx, loc.Ref)
}

// create makes the repository. The URL goes into its configuration, so that it is
// never an argument.
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
	// Of higher precedence than the files of the repository.
	attributes := "* -export-ignore -export-subst"
	if r.git.VetoHost != nil {
		attributes += " -filter"
	}
	if err := appendFile(filepath.Join(r.dir, "info", "attributes"), attributes+"\n"); err != nil {
		return err
	}
	return r.vetoReplaced(ctx, address)
}

// vetoReplaced asks about the URL that the user's configuration of git puts in the place of
// address, if there is one.
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
		return fmt.Errorf("the URL that the configuration of git replaces the repository's with: %w", err)
	}
	u, err := loc.parsed()
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

// fetch gets the commit that ref names, and tells its full name. First just that is
// asked for. A server need not hand out a commit by its name, and cannot find one by a
// part of it; then all branches and tags are fetched.
func (r *repository) fetch(ctx context.Context, ref string) (string, error) {
	if ref == "" {
		ref = "HEAD"
	}
	err := r.get(ctx, "--no-tags", "--depth=1", "--", "origin", ref)
	if complains(err, "dumb http") {
		// A server that only has files, no git of its own, gives the whole history.
		err = r.get(ctx, "--no-tags", "--", "origin", ref)
	}
	if err == nil {
		return r.resolve(ctx, "FETCH_HEAD")
	}
	if ctx.Err() != nil || !isCommit(ref) {
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

// complains reports whether git said this.
func complains(err error, text string) bool {
	g, ok := errors.AsType[*gitError](err)
	return ok && strings.Contains(g.text, text)
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
			if !ok || controlDir(name, isGitDir) != "" {
				return fmt.Errorf("%w: the repository holds a file %.100q, which git itself forbids", ErrArchive, name)
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
