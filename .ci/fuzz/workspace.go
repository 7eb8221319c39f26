package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// A workspace has two copies of the module, so that the module itself is not modified. The
// fuzzer runs in one copy. In the other, inputs are run to count the statements that they
// reach.
type workspace struct {
	tmp         string
	fuzz, cover string // the copies' roots
	binaries    map[string]*binary
}

// A binary is the test programs of a package for both copies, built on demand.
type binary struct {
	once  sync.Once
	fuzz  string
	cover string
	err   error
}

func newWorkspace(tmp string, covers bool) (*workspace, error) {
	w := &workspace{tmp: tmp, fuzz: filepath.Join(tmp, "tree"), cover: filepath.Join(tmp, "covertree"), binaries: map[string]*binary{}}
	for _, dir := range []string{w.fuzz, w.cover} {
		if err := copyModule(dir); err != nil {
			return nil, err
		}
		if !covers {
			break
		}
	}
	return w, nil
}

// copyModule copies the files that git tracks or would add.
func copyModule(dir string) error {
	list, err := exec.Command("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard").Output()
	if err != nil {
		return fmt.Errorf("git ls-files: %w", err)
	}
	for name := range strings.SplitSeq(strings.TrimRight(string(list), "\x00"), "\x00") {
		data, err := os.ReadFile(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue // removed, but not yet for git
		}
		if err != nil {
			return err
		}
		to := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(to, data, 0o644); err != nil {
			return err
		}
	}
	return nil
}

var targetLine = regexp.MustCompile(`(?m)^func (Fuzz\w+)\(`)

// targets returns the module's fuzz targets that one of the patterns matches.
func (w *workspace) targets(patterns []string) ([]*target, error) {
	var exprs []*regexp.Regexp
	for _, p := range patterns {
		e, err := regexp.Compile(p)
		if err != nil {
			return nil, err
		}
		exprs = append(exprs, e)
	}
	list := exec.Command("go", "list", "-f", `{{$d := .Dir}}{{range .TestGoFiles}}{{$d}}/{{.}}{{"\n"}}{{end}}{{range .XTestGoFiles}}{{$d}}/{{.}}{{"\n"}}{{end}}`, "./...")
	list.Dir, list.Stderr = w.fuzz, os.Stderr
	out, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	var targets []*target
	for file := range strings.FieldsSeq(string(out)) {
		source, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		pkg, err := filepath.Rel(w.fuzz, filepath.Dir(file))
		if err != nil {
			return nil, err
		}
		for _, m := range targetLine.FindAllSubmatch(source, -1) {
			t := &target{workspace: w, pkg: filepath.ToSlash(pkg), fuzz: string(m[1])}
			if matches(exprs, t.name()) {
				targets = append(targets, t)
			}
		}
		if w.binaries[filepath.ToSlash(pkg)] == nil {
			w.binaries[filepath.ToSlash(pkg)] = &binary{}
		}
	}
	if len(targets) == 0 {
		return nil, errors.New("no fuzz target matches")
	}
	slices.SortFunc(targets, func(a, b *target) int { return strings.Compare(a.name(), b.name()) })
	return targets, nil
}

// build builds the package's test programs.
func (w *workspace) build(ctx context.Context, pkg string, covers bool) error {
	b := w.binaries[pkg]
	b.once.Do(func() {
		base := filepath.Join(w.tmp, "bin", strings.ReplaceAll(pkg, "/", "_"))
		b.fuzz, b.cover = base+".fuzz", base+".cover"
		b.err = w.compile(ctx, w.fuzz, pkg, "-fuzz=.", "-o", b.fuzz)
		if b.err == nil && covers {
			b.err = w.compile(ctx, w.cover, pkg, "-covermode=set", "-coverpkg=./...", "-o", b.cover)
		}
	})
	return b.err
}

func (w *workspace) compile(ctx context.Context, dir, pkg string, args ...string) error {
	cmd := exec.CommandContext(ctx, "go", append(append([]string{"test", "-c"}, args...), "./"+pkg)...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%v: %w\n%s", cmd.Args, err, out)
	}
	return nil
}
