package install_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"

	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/testing/disktest"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/provider/install"
	"github.com/tofureg/tofureg/serve/mirrordir"
	"github.com/tofureg/tofureg/testkit/regtest"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

// both ways of placing a package: by a link, and by a copy.
var both = []bool{false, true}

func TestPlace(t *testing.T) {
	t.Parallel()
	o := newOffer(t, regtest.Provider{Files: map[string]string{"docs/a.txt": "text"}})
	cache := newDir(t)
	from := o.install(t, cache, install.Options{})
	for _, copies := range both {
		t.Run(fmt.Sprintf("copies=%v", copies), func(t *testing.T) {
			t.Parallel()
			d := newDir(t)
			pkg := must.Get(d.Place(t.Context(), from, copies))(t)
			linked := links(t) && !copies
			if linked != (pkg.Link == from.Dir) {
				t.Errorf("%+v", pkg)
			}
			found, err := d.Lookup(t.Context(), alpha, v1, linux, checksum.NewSet(from.Report.Local...))
			if err != nil || found.Package != *pkg {
				t.Fatalf("%+v, %v; want %+v", found, err, pkg)
			}
			path := must.Get(pkg.Executable())(t)
			info, err := os.Stat(path)
			if err != nil || runtime.GOOS != "windows" && info.Mode().Perm()&0o111 == 0 {
				t.Error(info.Mode(), err)
			}
			original, err := os.Stat(filepath.Join(from.Dir, program))
			if err != nil || linked != os.SameFile(info, original) {
				t.Errorf("the program is the original: %v, want %v; %v", !linked, linked, err)
			}

			was, _ := os.Lstat(pkg.Dir)
			again, err := d.Place(t.Context(), from, true)
			if is, _ := os.Lstat(pkg.Dir); err != nil || *again != *pkg || !os.SameFile(was, is) {
				t.Errorf("once more: %+v, %v", again, err)
			}
			if pkg.Link == "" {
				write(t, pkg.Dir, "more", "")
			} else {
				os.Remove(pkg.Dir)
				link(t, elsewhere(t), pkg.Dir)
			}
			target, _ := os.Readlink(pkg.Dir)
			if again, err := d.Place(t.Context(), from, copies); err != nil || *again != *pkg {
				t.Errorf("over something else: %+v, %v", again, err)
			}
			if target != "" {
				wantNames(t, target, "precious")
			}
			wantNames(t, cache.Path, home+"/docs/a.txt", home+"/"+program)
		})
	}
	if pkg, err := cache.Place(t.Context(), from, false); err != nil || pkg.Link != "" {
		t.Errorf("onto itself: %+v, %v", pkg, err)
	}
	if _, err := newDir(t).Place(t.Context(), nil, false); err == nil {
		t.Error("nothing: no error")
	}
	if _, err := newDir(t).Place(t.Context(), &install.Installed{Package: from.Package}, false); err == nil {
		t.Error("not verified: no error")
	}
}

// TestPlaceChanged: a package that changed after its verification is not placed.
func TestPlaceChanged(t *testing.T) {
	t.Parallel()
	o := newOffer(t, regtest.Provider{})
	for _, copies := range both {
		for name, change := range map[string]func(dir string){
			"content": func(dir string) { write(t, dir, program, "else") },
			"link":    func(dir string) { link(t, program, filepath.Join(dir, "link")) },
			"gone":    func(dir string) { os.RemoveAll(dir) },
		} {
			if name != "gone" && !copies {
				continue // a symbolic link is not verified
			}
			from := o.install(t, newDir(t), install.Options{})
			change(from.Dir)
			d := newDir(t)
			if pkg, err := d.Place(t.Context(), from, copies); err == nil {
				t.Errorf("copies %v, %s: %+v", copies, name, pkg)
			}
			wantNames(t, d.Path)
		}
	}
}

// TestUnpacked installs unpacked packages of a filesystem mirror.
func TestUnpacked(t *testing.T) {
	t.Parallel()
	mirror := t.TempDir()
	write(t, mirror, home+"/"+program, "program")
	write(t, mirror, home+"/docs/a.txt", "text")
	m := must.Get(mirrordir.Open(mirror))(t)
	pkg := must.Get(m.ProviderPackage(t.Context(), alpha, v1, linux))(t)
	h1 := h1Of(t, filepath.Join(mirror, home))
	locked := verify.Policy{Accept: checksum.NewSet(h1)}
	for _, copies := range both {
		d := newDir(t)
		done := must.Get(d.Install(t.Context(), m, pkg, install.Options{Policy: locked, Copy: copies}))(t)
		checkInstalled(t, done)
		if linked := !copies && links(t); done.Fetched != 0 || done.Reused || linked != (done.Link != "") {
			t.Errorf("copies %v: %+v", copies, done)
		}
		again, err := d.Install(t.Context(), nil, pkg, install.Options{Policy: locked, Copy: copies})
		if err != nil || !again.Reused {
			t.Errorf("copies %v: %+v, %v", copies, again, err)
		}
		// The file in the mirror is not executable.
		if info, err := os.Stat(filepath.Join(done.Dir, program)); err != nil || copies && runtime.GOOS != "windows" && info.Mode().Perm()&0o100 == 0 {
			t.Errorf("copies %v: %v, %v", copies, info.Mode(), err)
		}
	}

	// Only the content itself can be judged.
	for name, c := range map[string]struct {
		policy verify.Policy
		want   error
	}{
		"strict":            {verify.Policy{}, verify.ErrUnchecked},
		"another":           {verify.Policy{Accept: checksum.NewSet(otherH1)}, verify.ErrNotAccepted},
		"only zh is locked": {verify.Policy{Accept: checksum.NewSet(checksum.ZHSum([32]byte{}))}, verify.ErrNotAccepted},
		"too large":         {verify.Policy{AllowUnchecked: true, Limits: checksum.Limits{Unpacked: 10}}, failure.ErrTooLarge},
		"too many":          {verify.Policy{AllowUnchecked: true, Limits: checksum.Limits{Entries: 2}}, failure.ErrTooLarge},
	} {
		for _, copies := range both {
			if !copies && errors.Is(c.want, failure.ErrTooLarge) {
				continue // nothing is written
			}
			d := newDir(t)
			if _, err := d.Install(t.Context(), m, pkg, install.Options{Policy: c.policy, Copy: copies}); !errors.Is(err, c.want) {
				t.Errorf("%s, copies %v: %v", name, copies, err)
			}
			wantNames(t, d.Path)
		}
	}
	d := newDir(t)
	just := checksum.Limits{Unpacked: int64(len("program") + len("text")), Entries: 3} // with one directory, as in an archive
	if done, err := d.Install(t.Context(), m, pkg, install.Options{Policy: verify.Policy{AllowUnchecked: true, Limits: just}, Copy: true}); err != nil || done.Report.Trust != verify.Unchecked {
		t.Errorf("%+v, %v", done, err)
	}
	for _, copies := range both {
		d := &install.Dir{Path: mirror}
		done, err := d.Install(t.Context(), m, pkg, install.Options{Policy: verify.Policy{AllowUnchecked: true}, Copy: copies})
		if err != nil || !done.Reused || done.Link != "" {
			t.Errorf("copies %v, onto itself: %+v, %v", copies, done, err)
		}
	}

	link(t, "/etc/passwd", filepath.Join(mirror, home, "docs", "link"))
	for _, copies := range both {
		d := newDir(t)
		if _, err := d.Install(t.Context(), m, pkg, install.Options{Policy: verify.Policy{AllowUnchecked: true}, Copy: copies}); !errors.Is(err, checksum.ErrIrregular) {
			t.Errorf("copies %v, with a link in it: %v", copies, err)
		}
		wantNames(t, d.Path)
	}
}

// TestPartIsNotBelieved: a policy that accepts unverified content accepts it from its source, but
// not what happens to be in the directory.
func TestPartIsNotBelieved(t *testing.T) {
	t.Parallel()
	o := newOffer(t, regtest.Provider{NoSums: true})
	o.pkg.SHA256, o.pkg.Hashes = checksum.Hash{}, nil
	d := newDir(t)
	write(t, d.Path, home+"/"+program, "a part")
	done := o.install(t, d, install.Options{Policy: verify.Policy{AllowUnchecked: true}})
	if done.Reused || done.Fetched == 0 || done.Report.Trust != verify.Unchecked {
		t.Errorf("%+v", done)
	}
}

// TestPlaceHasNoLimits: a verified package is placed whatever its size. A sparse file exceeds the
// default limit; it is not copied. On 32-bit systems os.Root opens no file of 2 GiB.
func TestPlaceHasNoLimits(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" || strconv.IntSize == 32 {
		return
	}
	from := &install.Installed{
		Package: install.Package{Provider: alpha, Version: v1, Platform: linux, Dir: t.TempDir()},
		Report:  &verify.Report{Local: []checksum.Hash{otherH1}},
	}
	large := write(t, from.Dir, program, "")
	if err := os.Truncate(large, checksum.Limits{}.Effective().Unpacked+1); err != nil {
		t.Skipf("skipped: no such large file can be made: %v", err)
	}
	d := newDir(t)
	ctx := endsWhen{t.Context(), func() bool {
		found, _ := filepath.Glob(staged(d, program))
		return len(found) > 0
	}}
	if _, err := d.Place(ctx, from, true); !errors.Is(err, context.Canceled) {
		t.Errorf("Place returned %v, want %v", err, context.Canceled)
	}
}

// TestReplacesAtOnce: while a package is replaced repeatedly, it never disappears.
func TestReplacesAtOnce(t *testing.T) {
	t.Parallel()
	disktest.SkipWithoutExchange(t)
	from := newOffer(t, regtest.Provider{}).install(t, newDir(t), install.Options{})
	d := newDir(t)
	pkg := must.Get(d.Place(t.Context(), from, true))(t)
	done := make(chan error)
	go func() {
		done <- func() error {
			for range 50 {
				if err := os.WriteFile(filepath.Join(pkg.Dir, "more"), nil, 0o644); err != nil {
					return err
				}
				if _, err := d.Place(t.Context(), from, true); err != nil {
					return err
				}
			}
			return nil
		}()
	}()
	missing := 0
	for {
		if _, err := os.Lstat(pkg.Dir); errors.Is(err, fs.ErrNotExist) {
			missing++
		}
		select {
		case err := <-done:
			if err != nil || missing > 0 {
				t.Errorf("%d times there was nothing; %v", missing, err)
			}
			return
		default:
		}
	}
}
