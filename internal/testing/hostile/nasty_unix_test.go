//go:build unix

package hostile_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/internal/testing/disktest"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/module"
	"github.com/tofureg/tofureg/provider/install"
	"github.com/tofureg/tofureg/verify/checksum"
)

// TestNastyFiles: errors of the system about files and links with hostile names are printable and short.
func TestNastyFiles(t *testing.T) {
	name := strings.ReplaceAll(nasty, "\x00", "")
	long := strings.TrimSuffix(strings.Repeat(strings.Repeat(name, 250/len(name))+"/", 12), "/")
	shapes := map[string]func(t *testing.T, dir string){
		"file":      func(t *testing.T, dir string) { write(t, filepath.Join(dir, name), 0) },
		"directory": func(t *testing.T, dir string) { must.Do(t, os.Mkdir(filepath.Join(dir, name), 0)) },
		"deep file": func(t *testing.T, dir string) { write(t, filepath.Join(dir, long), 0) },
		"socket":    func(t *testing.T, dir string) { must.Do(t, disktest.Mkfifo(filepath.Join(dir, name))) },
		"link":      func(t *testing.T, dir string) { must.Do(t, os.Symlink(long, filepath.Join(dir, name))) },
	}
	disktest.ReadOnly(t, func(t *testing.T, dir string) {
		beside := filepath.Dir(dir)
		must.Do(t, os.Mkdir(filepath.Join(beside, "into"), 0o777))
		must.Do(t, os.Chmod(filepath.Join(beside, "into"), 0o777))
		for shape, make := range shapes {
			// The layout of a plugin directory, in which each package can be read as a directory as well.
			pkg := filepath.Join(beside, shape, alpha.Host().String(), alpha.Namespace(), alpha.Type(), v1.String(), linux.String())
			must.Do(t, os.MkdirAll(pkg, 0o755))
			write(t, filepath.Join(pkg, "terraform-provider-alpha"), 0o755)
			make(t, pkg)
		}
	}, func(t *testing.T, dir string) {
		beside := filepath.Dir(dir)
		for shape := range shapes {
			plugins := &install.Dir{Path: filepath.Join(beside, shape)}
			pkg := filepath.Join(plugins.Path, alpha.Host().String(), alpha.Namespace(), alpha.Type(), v1.String(), linux.String())
			into := filepath.Join(beside, "into")
			c := &crowd{tree: pkg}
			for op, run := range map[string]func(ctx context.Context) error{
				"checksum.H1Dir": func(ctx context.Context) error { return errorOf(checksum.H1Dir(ctx, os.DirFS(pkg))) },
				"checksum.L1Dir": func(ctx context.Context) error { return errorOf(checksum.L1Dir(ctx, os.DirFS(pkg))) },
				"install.Dir.Lookup": func(ctx context.Context) error {
					return errorOf(plugins.Lookup(ctx, alpha, v1, linux, checksum.NewSet(checksum.Hash{})))
				},
				"install.Dir.Place": func(ctx context.Context) error {
					return errorOf((&install.Dir{Path: into}).Place(ctx, c.installed(), true))
				},
				"module.Download": func(ctx context.Context) error {
					loc := &module.Location{Kind: module.KindLocal, URL: "file://" + pkg}
					return errorOf(module.Download(ctx, nil, module.Request{Location: loc, Dir: filepath.Join(into, "m")}, module.Options{AllowLocal: true}))
				},
				"module.Download with links": func(ctx context.Context) error {
					loc := &module.Location{Kind: module.KindLocal, URL: "file://" + pkg}
					return errorOf(module.Download(ctx, nil, module.Request{Location: loc, Dir: filepath.Join(into, "m")}, module.Options{AllowLocal: true, KeepLinks: true}))
				},
			} {
				err := run(t.Context())
				if err == nil {
					if op != "checksum.L1Dir" || shape != "link" { // which follows no link
						t.Errorf("%s with a nasty %s: no error", op, shape)
					}
					continue
				}
				printable(t, op+" with a nasty "+shape+": the error", err.Error())
				if e, ok := errors.AsType[*fs.PathError](err); ok {
					printable(t, op+" with a nasty "+shape+": the path in the error", e.Path)
				}
			}
		}
	})
}

// write creates a file, and missing directories above it.
func write(t *testing.T, path string, perm fs.FileMode) {
	t.Helper()
	must.Do(t, os.MkdirAll(filepath.Dir(path), 0o755))
	must.Do(t, os.WriteFile(path, nil, perm))
}
