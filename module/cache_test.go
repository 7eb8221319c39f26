package module_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tofureg/tofureg/internal/testing/archivetest"
	"github.com/tofureg/tofureg/internal/testing/disktest"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/module"
	"github.com/tofureg/tofureg/verify/checksum"
)

// counted returns options that run git through a program that counts its runs.
func counted(t *testing.T) (o module.Options, runs func() int) {
	t.Helper()
	log := filepath.Join(t.TempDir(), "runs")
	o = allowed()
	o.Git.Path = program(t, fmt.Sprintf("#!/bin/sh\necho run >>'%s'\nexec '%s' \"$@\"\n", log, must.Get(exec.LookPath("git"))(t)))
	return o, func() int {
		data, _ := os.ReadFile(log)
		return strings.Count(string(data), "run")
	}
}

// cacheIn returns a cache in a new directory.
func cacheIn(t *testing.T) *module.Cache {
	return &module.Cache{Path: filepath.Join(t.TempDir(), "cache")}
}

// TestCacheOfGit: a commit in a second directory starts no git, also for a later Cache with the same path; a branch or tag is asked for,
// and not within MaxAge.
func TestCacheOfGit(t *testing.T) {
	t.Parallel()
	origin := newOrigin(t)
	o, runs := counted(t)
	o.Cache = cacheIn(t)
	commit, both := origin.git("rev-parse", "HEAD"), with(example, files{"second.tf": "# two\n"})
	at := origin.location("?ref=" + commit)
	if r := wantPackage(t, nil, at, o, both); r.Cached || r.Commit != commit {
		t.Errorf("first download of %s: %+v, want one that is not cached", at, r)
	}
	o.Cache = &module.Cache{Path: o.Cache.Path}
	before := runs()
	for _, at := range []string{at, origin.location("//modules?ref=" + strings.ToUpper(commit))} {
		if r := wantPackage(t, nil, at, o, both); !r.Cached || r.Commit != commit || runs() != before {
			t.Errorf("%s again: %+v with %d runs of git, want a copy of the commit without any", at, r, runs()-before)
		}
	}
	for _, ref := range []string{"main", "HEAD", "refs/heads/main"} {
		if r := wantPackage(t, nil, origin.location("?ref="+ref), o, both); !r.Cached || r.Commit != commit {
			t.Errorf("%s: %+v, want a copy of the commit", ref, r)
		}
	}
	if r := wantPackage(t, nil, origin.location("?ref=v1.0.0"), o, example); r.Cached {
		t.Errorf("v1.0.0: %+v, want a download", r)
	}

	o.Cache = &module.Cache{Path: o.Cache.Path, MaxAge: time.Hour}
	wantPackage(t, nil, origin.location("?ref=v1.0.0"), o, example)
	before = runs()
	if r := wantPackage(t, nil, origin.location("?ref=v1.0.0"), o, example); !r.Cached || runs() != before {
		t.Errorf("v1.0.0 within MaxAge: %+v with %d runs of git, want a copy without any", r, runs()-before)
	}
	origin.git("tag", "--force", "v1.0.0", "main")
	o.Cache = &module.Cache{Path: o.Cache.Path}
	if r := wantPackage(t, nil, origin.location("?ref=v1.0.0"), o, both); !r.Cached || r.Commit != commit {
		t.Errorf("v1.0.0 after it was moved, without MaxAge: %+v, want the new commit", r)
	}

	// What the options do not permit is not in the cache either.
	o.AllowLocal = false
	wantRefused(t, nil, at, o, module.ErrLocal)
}

// TestCacheOfArchives: a checksum, an OCI digest and a hash need no request; MD5, and an archive without any, are fetched again.
func TestCacheOfArchives(t *testing.T) {
	t.Parallel()
	archive := example.tgz(t)
	const digest = "sha256:" + "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	for _, test := range []struct {
		location string
		cached   bool
	}{
		{fmt.Sprintf("%s?checksum=sha256:%x", archiveURL, sha256.Sum256(archive)), true},
		{"oci://registry.example.com/vpc?digest=" + digest, true},
		{"oci://registry.example.com/vpc?tag=v1", false},
		{"s3::https://s3.amazonaws.com/b/a", false},
		{archiveURL, false},
	} {
		src, o := only(archive), module.Options{Fetcher: fetch(example), Cache: cacheIn(t)}
		wantPackage(t, src, test.location, o, example)
		asked := len(src.asked)
		o.Limits.Unpacked = 1
		_, _, err := get(t, src, test.location, o)
		wellFormed(t, err) // too large for this caller
		o.Limits.Unpacked = 0
		src.asked = src.asked[:asked]
		if r := wantPackage(t, src, test.location, o, example); r.Cached != test.cached || test.cached && len(src.asked) != asked {
			t.Errorf("%s: %+v, asked for %q, want cached %t", test.location, r, src.asked[asked:], test.cached)
		}
		for _, cached := range []bool{false, true} {
			location := at(t, archiveURL+fmt.Sprintf("?archive=tgz&token=%t", cached))
			src.open[location.URL] = src.open[archiveURL]
			r, err := module.Download(t.Context(), src, module.Request{Location: location, H1: h1(t, example), Dir: target(t)}, o)
			if want := cached || strings.HasPrefix(test.location, archiveURL+"?"); err != nil || r.Cached != want {
				t.Errorf("%s: by its hash %+v, %v, want cached %t", test.location, r, err, want)
			}
		}
	}
}

// TestCacheOfTags: the body of an archive with the strong ETag of before is not received, within MaxAge or if it has the
// hash.
func TestCacheOfTags(t *testing.T) {
	t.Parallel()
	archive, other := example.zip(t), earlier.zip(t)
	for name, test := range map[string]struct {
		first, second, url string
		age                time.Duration
		hash, cached       bool
	}{
		"same":              {`"a"`, `"a"`, archiveURL, time.Hour, false, true},
		"another":           {`"a"`, `"b"`, archiveURL, time.Hour, false, false},
		"weak":              {`W/"a"`, `W/"a"`, archiveURL, time.Hour, false, false},
		"none":              {"", "", archiveURL, time.Hour, false, false},
		"another URL":       {`"a"`, `"a"`, archiveURL + "/2", time.Hour, false, false},
		"without MaxAge":    {`"a"`, `"a"`, archiveURL, 0, false, false},
		"with a hash":       {`"a"`, `"a"`, archiveURL, 0, true, true},
		"old":               {`"a"`, `"a"`, archiveURL, time.Nanosecond, false, false},
		"with a wrong hash": {`"a"`, `"a"`, archiveURL, time.Hour, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := module.Options{Cache: &module.Cache{Path: cacheIn(t).Path, MaxAge: test.age}}
			src := &fake{open: map[string]func() (*module.Body, error){archiveURL: func() (*module.Body, error) {
				b := body(archive)
				b.ETag = test.first
				return b, nil
			}}}
			if name == "with a wrong hash" { // the cache has another package with the tag
				src.open[archiveURL] = func() (*module.Body, error) {
					b := body(other)
					b.ETag = test.first
					return b, nil
				}
				wantPackage(t, src, archiveURL, o, earlier)
			} else {
				wantPackage(t, src, archiveURL, o, example)
			}
			read := false
			src.open[test.url] = func() (*module.Body, error) {
				b := body(archive)
				b.ETag, b.ReadCloser = test.second, io.NopCloser(readerFunc(func(p []byte) (int, error) {
					read = true
					return 0, io.ErrUnexpectedEOF
				}))
				if !test.cached {
					b.ReadCloser = body(archive).ReadCloser
				}
				return b, nil
			}
			request := module.Request{Location: at(t, test.url), Dir: target(t)}
			if test.hash {
				request.H1 = h1(t, example)
			}
			report, err := module.Download(t.Context(), src, request, o)
			if err != nil || report.Cached != test.cached || read || src.bodies != 0 {
				t.Errorf("Download = %+v, %v, body read: %t, %d not closed; want cached %t", report, err, read, src.bodies, test.cached)
			}
			wantTree(t, request.Dir, example)
		})
	}
}

type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// one returns the path of the only file in a directory.
func one(t testing.TB, dir string) string {
	t.Helper()
	names := must.Get(os.ReadDir(dir))(t)
	if len(names) != 1 {
		t.Fatalf("%s has %v, want one file", dir, names)
	}
	return filepath.Join(dir, names[0].Name())
}

// TestCacheThatLies: whatever somebody has put into the cache, a package with a hash is what a fresh fetch gives, nothing
// is written elsewhere, and the next download is a copy again. So is one without a hash, unless the whole package was
// forged.
func TestCacheThatLies(t *testing.T) {
	t.Parallel()
	outside := t.TempDir()
	forged := func(t *testing.T, key, head string, entries ...entry) error {
		content := append([]byte(head+"\n"), archivetest.Tar(t, entries...)...)
		name := fmt.Sprintf("%x", sha256.Sum256(content))
		must.Do(t, os.WriteFile(filepath.Join(filepath.Dir(filepath.Dir(key)), "packages", name), content, 0o600))
		return os.WriteFile(key, []byte(name), 0o600)
	}
	evil := entry{Name: "main.tf", Content: "evil", Mode: 0o644}
	evilHead := fmt.Sprintf(`{"h1":%q}`, h1(t, files{"main.tf": "evil"}))
	goodHead := fmt.Sprintf(`{"h1":%q}`, h1(t, example))
	replace := func(path string, put func(string) error) error {
		must.Do(t, os.Remove(path))
		return put(path)
	}
	mkdir := func(path string) error { return os.Mkdir(path, 0o700) }
	forge := func(head string, entries ...entry) func(t *testing.T, key string) error {
		return func(t *testing.T, key string) error { return forged(t, key, head, entries...) }
	}
	for name, test := range map[string]struct {
		key   func(t *testing.T, key string) error  // changes the file of a key
		pack  func(t *testing.T, pack string) error // changes the package
		stays bool                                  // what this user has put there, so that it is fetched again
		fools bool                                  // without a hash
	}{
		"another byte": {pack: func(t *testing.T, pack string) error {
			data := must.Get(os.ReadFile(pack))(t)
			data[len(data)/2] ^= 1
			return os.WriteFile(pack, data, 0o600)
		}},
		"half":       {pack: func(_ *testing.T, pack string) error { return os.Truncate(pack, 1000) }},
		"padded":     {pack: func(t *testing.T, pack string) error { return os.Truncate(pack, fileSize(t, pack)+512) }},
		"huge":       {pack: func(_ *testing.T, pack string) error { return os.Truncate(pack, 1<<40) }},
		"empty":      {pack: func(_ *testing.T, pack string) error { return os.Truncate(pack, 0) }},
		"only zeros": {pack: func(_ *testing.T, pack string) error { os.Truncate(pack, 0); return os.Truncate(pack, 1<<40) }},
		"no package": {pack: func(_ *testing.T, pack string) error { return os.Remove(pack) }},
		"unreadable": {pack: func(_ *testing.T, pack string) error { return os.Chmod(pack, 0) }},
		"directory":  {stays: true, pack: func(_ *testing.T, pack string) error { return replace(pack, mkdir) }},
		"pipe":       {stays: true, pack: func(_ *testing.T, pack string) error { return replace(pack, disktest.Mkfifo) }},
		"link": {pack: func(t *testing.T, pack string) error {
			elsewhere := filepath.Join(t.TempDir(), "pack")
			must.Do(t, os.Rename(pack, elsewhere))
			if err := disktest.Symlink(elsewhere, pack); err != nil {
				t.Logf("without a link: %v", err) // then there is no package
			}
			return nil
		}},
		"no key":           {key: func(_ *testing.T, key string) error { return os.Remove(key) }},
		"other key":        {key: func(_ *testing.T, key string) error { return os.WriteFile(key, []byte("../keys"), 0o600) }},
		"huge key":         {key: func(_ *testing.T, key string) error { return os.Truncate(key, 1<<40) }},
		"key of another":   {key: func(_ *testing.T, key string) error { return os.WriteFile(key, []byte(strings.Repeat("0", 64)), 0o600) }},
		"directory as key": {stays: true, key: func(_ *testing.T, key string) error { return replace(key, mkdir) }},

		"forged":                               {fools: true, key: forge(evilHead, evil)},
		"forged, with the hash in its head":    {key: forge(goodHead, evil)},
		"forged, with a name that leads out":   {key: forge(evilHead, evil, entry{Name: strings.Repeat("../", 20) + filepath.ToSlash(outside) + "/evil", Mode: 0o644})},
		"forged, with a link that leads out":   {key: forge(evilHead, evil, entry{Name: "out", Content: outside, Mode: 0o777 | fs.ModeSymlink}, entry{Name: "out/evil", Mode: 0o644})},
		"forged, with a head that is too long": {key: forge(strings.Repeat(" ", 1<<20)+evilHead, evil)},
	} {
		for _, hash := range []checksum.Hash{h1(t, example), {}} {
			t.Run(strings.TrimRight(name+" "+hash.String(), " "), func(t *testing.T) {
				t.Parallel()
				o, location := module.Options{Cache: cacheIn(t)}, example.pinned(t)
				if !hash.IsZero() { // which finds it
					location = at(t, archiveURL+"?archive=zip")
				}
				src := only(example.zip(t))
				download := func() *module.Report {
					dir := target(t)
					report := must.Get(module.Download(t.Context(), src, module.Request{Location: location, H1: hash, Dir: dir}, o))(t)
					if !hash.IsZero() || !test.fools {
						wantTree(t, dir, example)
					}
					return report
				}
				download()
				if !download().Cached {
					t.Fatal("the second download is no copy")
				}
				pack := one(t, filepath.Join(o.Cache.Path, "packages"))
				for _, key := range must.Get(os.ReadDir(filepath.Join(o.Cache.Path, "keys")))(t) {
					if test.key != nil {
						must.Do(t, test.key(t, filepath.Join(o.Cache.Path, "keys", key.Name())))
					}
				}
				if test.pack != nil {
					if err := test.pack(t, pack); errors.Is(err, errors.ErrUnsupported) {
						return
					} else if err != nil {
						t.Fatal(err)
					}
				}
				download()
				if cached := download().Cached; cached == test.stays {
					t.Errorf("the download after the next: cached %t, want %t", cached, !test.stays)
				}
			})
		}
	}
	t.Cleanup(func() {
		if left := must.Get(os.ReadDir(outside))(t); len(left) != 0 {
			t.Errorf("%v was written outside", left)
		}
	})
	// A directory that others can enter is not used.
	if os.Getuid() >= 0 {
		o := module.Options{Cache: cacheIn(t)}
		must.Do(t, os.Mkdir(o.Cache.Path, 0o755))
		must.Do(t, os.Chmod(o.Cache.Path, 0o755))
		wantPackage(t, only(example.zip(t)), example.pinned(t).Source(), o, example)
		if names := must.Get(os.ReadDir(o.Cache.Path))(t); len(names) != 0 {
			t.Errorf("a cache with mode 0755 has %v, want nothing", names)
		}
	}
}

func fileSize(t testing.TB, path string) int64 { return must.Get(os.Stat(path))(t).Size() }

// TestCacheTellsApart: packages with one h1 and other modes, empty directories or links are not mixed up.
func TestCacheTellsApart(t *testing.T) {
	t.Parallel()
	c := cacheIn(t)
	script := entry{Name: "run.sh", Content: "#!/bin/sh\n", Mode: 0o644}
	executable := script
	executable.Mode = 0o755
	packs := [][]entry{
		{script}, {executable}, {script, {Name: "empty/", Mode: 0o755 | fs.ModeDir}},
		{script, {Name: "link", Content: "run.sh", Mode: 0o777 | fs.ModeSymlink}}, {script, {Name: "link", Content: "none", Mode: 0o777 | fs.ModeSymlink}},
	}
	if err := disktest.Symlink("none", filepath.Join(t.TempDir(), "link")); err != nil {
		t.Logf("without links: %v", err)
		packs = packs[:3]
	}
	fetched := map[int]map[string]string{}
	for round := range 2 {
		for i, entries := range packs {
			archive := archivetest.Gzip(t, archivetest.Tar(t, entries...))
			location := fmt.Sprintf("%s?checksum=sha256:%x", archiveURL, sha256.Sum256(archive))
			dir, report, err := get(t, only(archive), location, module.Options{Cache: c, KeepLinks: true})
			if err != nil || report.Cached != (round == 1) {
				t.Fatalf("package %d, round %d: %+v, %v", i, round, report, err)
			}
			got := map[string]string{}
			must.Do(t, filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
				info := must.Get(os.Lstat(name))(t)
				link, _ := os.Readlink(name)
				rel := must.Get(filepath.Rel(dir, name))(t)
				got[rel] = info.Mode().String() + " " + link
				return err
			}))
			if round == 0 {
				fetched[i] = got
			} else if diff := cmp.Diff(fetched[i], got); diff != "" {
				t.Errorf("package %d from the cache (-fetched +copied):\n%s", i, diff)
			}
		}
	}
}

// TestCacheShares: callers that ask for one commit at the same time fetch it once.
func TestCacheShares(t *testing.T) {
	t.Parallel()
	origin := newOrigin(t)
	o, runs := counted(t)
	o.Cache = cacheIn(t)
	var requests []module.Request
	for range 16 {
		requests = append(requests, module.Request{Location: at(t, origin.location("?ref="+origin.git("rev-parse", "v1.0.0^{commit}"))), Dir: target(t)})
	}
	_, err := module.DownloadAll(t.Context(), nil, requests[:1], module.Options{Git: o.Git, AllowLocal: true})
	must.Do(t, err)
	alone := runs()
	requests[0].Dir = target(t)
	_, err = module.DownloadAll(t.Context(), nil, requests, o)
	must.Do(t, err)
	if all := runs() - alone; all != alone {
		t.Errorf("16 downloads ran git %d times, want %d times as one does", all, alone)
	}
	for _, r := range requests {
		wantTree(t, r.Dir, example)
	}
}

// TestCacheIsCopied: who changes a placed package changes no other one.
func TestCacheIsCopied(t *testing.T) {
	t.Parallel()
	o := module.Options{Cache: cacheIn(t)}
	for i := range 3 {
		dir := target(t)
		report := must.Get(module.Download(t.Context(), only(example.zip(t)), module.Request{Location: example.pinned(t), Dir: dir}, o))(t)
		wantTree(t, dir, example)
		if report.Cached != (i > 0) {
			t.Errorf("download %d: cached %t", i, report.Cached)
		}
		must.Do(t, os.WriteFile(filepath.Join(dir, "main.tf"), []byte("changed"), 0o644)) // in place
	}
}

// TestCacheOfMovedBranch: a branch that moves after git was asked for its commit puts nothing under that commit.
func TestCacheOfMovedBranch(t *testing.T) {
	t.Parallel()
	origin := newOrigin(t)
	o := allowed()
	o.Cache = &module.Cache{Path: cacheIn(t).Path, MaxAge: time.Hour}
	old, git := origin.git("rev-parse", "v1.0.0^{commit}"), must.Get(exec.LookPath("git"))(t)
	origin.git("branch", "moving", old)
	o.Git.Path = program(t, fmt.Sprintf("#!/bin/sh\ncase \"$*\" in *' fetch '*) '%s' --git-dir='%s/.git' branch --force moving main;; esac\nexec '%[1]s' \"$@\"\n", git, origin.dir))
	both := with(example, files{"second.tf": "# two\n"})
	if r := wantPackage(t, nil, origin.location("?ref=moving"), o, both); r.Commit == old {
		t.Errorf("commit %s, want that of main", r.Commit)
	}
	o.Git.Path = ""
	if r := wantPackage(t, nil, origin.location("?ref="+old), o, example); r.Cached {
		t.Errorf("the old commit: %+v, want a download", r)
	}
}

// TestCacheOfFilters: a commit is fetched again if the user's configuration of git may change it.
func TestCacheOfFilters(t *testing.T) {
	t.Parallel()
	origin := newOrigin(t)
	filtered := files{".gitattributes": "*.tf filter=words\n", "main.tf": "one\n"}
	write(t, origin.dir, filtered)
	location := origin.location("?ref=" + origin.commit("filtered"))
	o := allowed()
	o.Cache = cacheIn(t)
	for _, word := range []string{"two", "three"} {
		config := filepath.Join(t.TempDir(), "config")
		must.Do(t, os.WriteFile(config, []byte("[filter \"words\"]\n\tsmudge = sed s/one/"+word+"/\n"), 0o600))
		o.Git = &module.Git{Env: append(slices.Clone(o.Git.Env), "GIT_CONFIG_GLOBAL="+config)}
		dir, report, err := get(t, nil, location, o)
		if got, _ := os.ReadFile(filepath.Join(dir, "main.tf")); err != nil || report.Cached || string(got) != word+"\n" {
			t.Errorf("with the filter for %q: %q, %+v, %v; want that, not cached", word, got, report, err)
		}
	}
	// Without filters, the same commit is cached.
	o.Git = &module.Git{Env: o.Git.Env, VetoHost: func(string) error { return nil }}
	for i := range 2 {
		dir, report, err := get(t, nil, location, o)
		if got, _ := os.ReadFile(filepath.Join(dir, "main.tf")); err != nil || report.Cached != (i == 1) || string(got) != "one\n" {
			t.Errorf("download %d without filters: %q, %+v, %v", i, got, report, err)
		}
	}
}

// TestCacheOfSkippedLinks: names that take up to 64 KiB are kept; a package with more is fetched each time.
func TestCacheOfSkippedLinks(t *testing.T) {
	t.Parallel()
	for _, length := range []int{600, 700} {
		entries := []entry{{Name: "main.tf", Mode: 0o644}}
		for i := range 100 {
			entries = append(entries, entry{Name: fmt.Sprintf("%s%03d", strings.Repeat(strings.Repeat("d", 99)+"/", length/100), i), Content: "/", Mode: 0o777 | fs.ModeSymlink})
		}
		archive := archivetest.Gzip(t, archivetest.Tar(t, entries...))
		o := module.Options{Cache: cacheIn(t), SkipLinks: true}
		for round := range 2 {
			_, report, err := get(t, only(archive), fmt.Sprintf("%s?checksum=sha256:%x", archiveURL, sha256.Sum256(archive)), o)
			if err != nil || len(report.Skipped) != 100 || report.Cached != (round == 1 && length == 600) {
				t.Errorf("names of %d bytes, round %d: %+v, %v", length, round, report, err)
			}
		}
	}
}

// TestCacheOnFullDisk: a package that does not fit into the cache is downloaded.
func TestCacheOnFullDisk(t *testing.T) {
	t.Parallel()
	disktest.Full(t, int64(len(example["README.md"])), func(t *testing.T, parent string) {
		o := module.Options{Cache: &module.Cache{Path: filepath.Join(parent, "cache")}}
		for range 2 {
			dir := target(t)
			report, err := module.Download(t.Context(), only(example.tgz(t)), module.Request{Location: at(t, archiveURL+"?archive=tgz"), Dir: dir}, o)
			if err != nil || report.Cached {
				t.Errorf("%+v, %v, want a download", report, err)
			}
			wantTree(t, dir, example)
		}
		for _, name := range []string{"packages", "keys", "parts"} {
			if left := must.Get(os.ReadDir(filepath.Join(o.Cache.Path, name)))(t); len(left) != 0 {
				t.Errorf("%s has %v, want nothing", name, left)
			}
		}
	})
}

// TestCacheBesidePrune: while a process prunes everything, each download gives what a fresh one gives.
func TestCacheBesidePrune(t *testing.T) {
	t.Parallel()
	path := cacheIn(t).Path
	archive := example.tgz(t)
	location := fmt.Sprintf("%s?checksum=sha256:%x", archiveURL, sha256.Sum256(archive))
	done := make(chan struct{})
	var writers sync.WaitGroup
	for range 4 {
		writers.Go(func() {
			for range 10 {
				wantPackage(t, only(archive), location, module.Options{Cache: &module.Cache{Path: path}}, example)
			}
		})
	}
	go func() {
		defer close(done)
		writers.Wait()
	}()
	removed, c := 0, &module.Cache{Path: path}
	for running := true; running; {
		select {
		case <-done:
			running = false
		default:
		}
		p, err := c.Prune(t.Context(), time.Now().Add(time.Hour), 0, false)
		if err != nil {
			t.Errorf("Prune: %v", err)
			break
		}
		removed += p.Removed
	}
	<-done
	if removed == 0 {
		t.Error("Prune removed nothing beside the writers")
	}
	err := filepath.WalkDir(path, func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			t.Errorf("%s is left in the pruned cache", name)
		}
		return err
	})
	must.Do(t, err)
}

// TestPrune: by last use, then by size; dry removes nothing.
func TestPrune(t *testing.T) {
	t.Parallel()
	c := cacheIn(t)
	now := time.Now()
	var size []int64 // of the package that was used i days ago
	var all int64
	for i := range 4 {
		content := files{"main.tf": strings.Repeat("#", 1000*i)}
		wantPackage(t, only(content.zip(t)), content.pinned(t).Source(), module.Options{Cache: c}, content)
		for _, e := range must.Get(os.ReadDir(filepath.Join(c.Path, "packages")))(t) {
			path := filepath.Join(c.Path, "packages", e.Name())
			if info := must.Get(e.Info())(t); now.Sub(info.ModTime()) < 12*time.Hour {
				used := now.AddDate(0, 0, -i-1)
				must.Do(t, os.Chtimes(path, used, used))
				size, all = append(size, info.Size()), all+info.Size()
			}
		}
	}
	for _, test := range []struct {
		before time.Time
		size   int64
		dry    bool
		want   module.Pruned
	}{
		{time.Time{}, 0, false, module.Pruned{Kept: 4, Size: all}},
		{now.AddDate(0, 0, -3).Add(time.Hour), 0, true, module.Pruned{Removed: 2, Freed: size[2] + size[3], Kept: 2, Size: size[0] + size[1]}},
		{now.AddDate(0, 0, -4).Add(time.Hour), 0, false, module.Pruned{Removed: 1, Freed: size[3], Kept: 3, Size: all - size[3]}},
		{time.Time{}, all - size[3], false, module.Pruned{Kept: 3, Size: all - size[3]}},
		{time.Time{}, all - size[3] - 1, false, module.Pruned{Removed: 1, Freed: size[2], Kept: 2, Size: size[0] + size[1]}},
	} {
		if got, err := c.Prune(t.Context(), test.before, test.size, test.dry); err != nil || *got != test.want {
			t.Errorf("Prune(%v, %d, %t) = %+v, %v; want %+v", test.before, test.size, test.dry, got, err, test.want)
		}
	}
	if keys := must.Get(os.ReadDir(filepath.Join(c.Path, "keys")))(t); len(keys) != 4 {
		t.Errorf("%d keys are left, want two for each of 2 packages", len(keys))
	}
	if _, err := (&module.Cache{}).Prune(t.Context(), now, 0, false); err == nil {
		t.Error("Prune of a cache without Path succeeds")
	}
}

// pinned returns the location of f as a zip archive with its checksum.
func (f files) pinned(t testing.TB) *module.Location {
	return at(t, fmt.Sprintf("%s?checksum=sha256:%x", archiveURL, sha256.Sum256(f.zip(t))))
}

// TestCacheKilled kills processes that fill and prune a cache at any time. Later downloads with it give what fresh ones give, and
// remove what the processes have left.
func TestCacheKilled(t *testing.T) {
	t.Parallel()
	disktest.SkipWithoutExchange(t)
	dir, c := target(t), cacheIn(t)
	for i := range *kills {
		disktest.Start(t, fmt.Sprintf("round %d", i%5), "-module.replace="+dir, "-module.cache="+c.Path).Kill()
		for _, pack := range []files{example, earlier} {
			wantPackage(t, only(pack.zip(t)), pack.pinned(t).Source(), module.Options{Cache: c}, pack)
		}
	}
	must.Get(c.Prune(t.Context(), time.Now().Add(time.Hour), 0, false))(t)
	for _, name := range []string{"packages", "keys", "parts"} {
		if left := must.Get(os.ReadDir(filepath.Join(c.Path, name)))(t); len(left) != 0 {
			t.Errorf("%s has %v after Prune, want nothing", name, left)
		}
	}
}
