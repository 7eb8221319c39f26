package regdir_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"github.com/tofureg/tofureg/failure"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/scheduletest"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/module"
	"github.com/tofureg/tofureg/serve/regdir"
	"github.com/tofureg/tofureg/storage"
)

// scene is a set of actors on one registry. Of version 1.0.0 of a provider, A and C publish one platform each, B publishes
// another build for a third one, and R removes the version. Of a module, M publishes version 1.0.0, N the same files with
// another mode, and D removes the version. S sweeps, and r reads what the set is about.
type scene struct {
	actors         string
	start          string // what was done before, by actors one after another
	digests, locks bool
}

func (s scene) String() string {
	text := s.actors + "/" + map[string]string{"": "empty", "AC": "listed", "ACR": "removed", "M": "listed", "MD": "removed"}[s.start]
	switch {
	case s.locks:
		return text + "/locks"
	case s.digests:
		return text + "/digests"
	}
	return text + "/generations"
}

func (s scene) isModule() bool { return strings.ContainsAny(s.actors, "MND") }

// checked has what the scenes share.
type checked struct {
	releases  map[byte]regdir.Release
	locations map[byte]*module.Location
	temp      string
}

func newChecked(t *testing.T) *checked {
	c := &checked{releases: map[byte]regdir.Release{}, locations: map[byte]*module.Location{}, temp: t.TempDir()}
	both := dist(t, "1.0.0", 0, "linux_amd64", "darwin_arm64")
	for job, on := range map[byte]string{'A': "linux_amd64", 'C': "darwin_arm64"} {
		rel := both
		rel.Sums, rel.AllowMissing = filepath.Join(t.TempDir(), filepath.Base(both.Sums)), true
		for _, ending := range []string{"SHA256SUMS", "SHA256SUMS.sig", on + ".zip"} {
			name := "terraform-provider-alpha_1.0.0_" + ending
			write(t, filepath.Join(filepath.Dir(rel.Sums), name), string(must.Get(os.ReadFile(filepath.Join(filepath.Dir(both.Sums), name)))(t)))
		}
		c.releases[job] = rel
	}
	c.releases['B'] = dist(t, "1.0.0", 1, "windows_amd64")
	for job, mode := range map[byte]os.FileMode{'M': 0o644, 'N': 0o755} {
		dir := t.TempDir()
		write(t, filepath.Join(dir, "main.tf"), "# one\n")
		must.Do(t, os.Chmod(filepath.Join(dir, "main.tf"), mode))
		c.locations[job] = must.Get(module.ParseLocation(dir))(t)
	}
	return c
}

// actor returns an actor that does one job.
func (c *checked) actor(s scene, d *scheduletest.Disk, job byte, n int) *scheduletest.Actor {
	a := &scheduletest.Actor{Name: fmt.Sprintf("%c%d", job, n), Store: d}
	a.Do = func(ctx context.Context, store storage.Store) error {
		r := newRegistry(store)
		r.TempDir = c.temp
		count := 0
		regdir.SetNonce(r, func() string {
			count++
			return strings.ToLower(string(job)) + string(rune('a'+n)) + strings.Repeat("a", 23) + string(rune('a'+count))
		})
		switch job {
		case 'R':
			return r.RemoveProvider(ctx, alpha, v1)
		case 'D':
			return r.RemoveModule(ctx, network, v1)
		case 'S':
			return sweep(ctx, r)
		case 'r':
			return c.read(ctx, r, s.isModule())
		case 'M', 'N':
			return errorOf(r.PublishModule(ctx, network, v1, c.locations[job], local))
		}
		return errorOf(r.PublishProvider(ctx, c.releases[job]))
	}
	return a
}

// read reads what is listed, like a client. Between two requests it may be gone, but is never another one.
func (c *checked) read(ctx context.Context, r *regdir.Registry, isModule bool) error {
	gone := func(err error) error {
		if errors.Is(err, failure.ErrNotFound) || errors.Is(err, fs.ErrNotExist) || errors.Is(err, failure.ErrNotFound) {
			return nil
		}
		return err
	}
	if isModule {
		loc, err := r.ModuleLocation(ctx, network, v1)
		if err != nil {
			return gone(err)
		}
		body, err := r.OpenModule(ctx, loc)
		if err != nil {
			return gone(err)
		}
		return wantSum(body, loc.Checksum[len("sha256:"):])
	}
	pkg, err := r.ProviderPackage(ctx, alpha, v1, addrs.MustParsePlatform("linux_amd64"))
	if err != nil {
		return gone(err)
	}
	body, err := r.Open(ctx, pkg)
	if err != nil {
		return gone(err)
	}
	return wantSum(body, pkg.SHA256.Value())
}

func wantSum(body io.ReadCloser, want string) error {
	defer body.Close()
	data, err := io.ReadAll(body)
	if got := fmt.Sprintf("%x", sha256.Sum256(data)); err == nil && got != want {
		err = fmt.Errorf("the client reads an archive with %s, stated is %s", got, want)
	}
	return err
}

// state is what the documents say of version 1.0.0.
type state struct {
	listed    bool
	platforms []string          // that are listed, sorted; of a module none
	documents map[string]string // the digest of the archive by platform, of a module by ""
}

func decode[T any](data []byte) (v T) {
	if len(data) > 0 && json.Unmarshal(data, &v) != nil {
		panic(fmt.Sprintf("invalid document: %s", data))
	}
	return v
}

type listDocument struct {
	Versions []struct {
		Version   string
		Platforms []struct{ OS, Arch string }
	}
	Modules []struct{ Versions []struct{ Version string } }
}

// look returns an error if a document names a file that is missing or another one, or if the list leads to a document that
// is missing or empty.
func look(s scene, d *scheduletest.Disk) (now state, err error) {
	now.documents = map[string]string{}
	dir := "v1/providers/acme/alpha/"
	if s.isModule() {
		dir = "v1/modules/acme/network/aws/"
	}
	for name, f := range d.Files {
		rest, ok := strings.CutPrefix(name, dir+"1.0.0/download")
		if !ok {
			continue
		}
		doc := decode[struct {
			Location     string
			Filename     string
			DownloadURL  string `json:"download_url"`
			Shasum       string
			SumsURL      string `json:"shasums_url"`
			SignatureURL string `json:"shasums_signature_url"`
		}](f.Data)
		platform := strings.ReplaceAll(strings.TrimPrefix(rest, "/"), "/", "_")
		for _, url := range []string{doc.Location, doc.DownloadURL, doc.SumsURL, doc.SignatureURL} {
			if url == "" {
				continue
			}
			file, ok := d.Files[path.Join(path.Dir(name), url)]
			if !ok {
				return now, fmt.Errorf("%s names %s, which is missing", name, url)
			}
			sum := fmt.Sprintf("%x", sha256.Sum256(file.Data))
			if url == doc.DownloadURL && sum != doc.Shasum {
				return now, fmt.Errorf("%s states %s for %s, which has %s", name, doc.Shasum, url, sum)
			}
			if url == doc.DownloadURL || url == doc.Location {
				now.documents[platform] = sum
			}
		}
	}
	list := decode[listDocument](d.Files[dir+"versions"].Data)
	for _, v := range list.Versions {
		now.listed = now.listed || v.Version == "1.0.0"
		for _, on := range v.Platforms {
			now.platforms = append(now.platforms, on.OS+"_"+on.Arch)
		}
	}
	for _, m := range list.Modules {
		for _, v := range m.Versions {
			now.listed = now.listed || v.Version == "1.0.0"
		}
	}
	if slices.Sort(now.platforms); s.isModule() && now.listed {
		now.platforms = []string{""}
	}
	for _, on := range now.platforms {
		if now.documents[on] == "" {
			return now, fmt.Errorf("the list leads to the document of %q, which is missing or empty", on)
		}
	}
	return now, nil
}

// agree returns an error unless list and documents agree.
func agree(s scene, d *scheduletest.Disk) (state, error) {
	now, err := look(s, d)
	if with := slices.Sorted(maps.Keys(now.documents)); err == nil && !slices.Equal(with, now.platforms) {
		err = fmt.Errorf("there are documents of %q, listed are %q", with, now.platforms)
	}
	return now, err
}

// end checks the state after a run.
func (c *checked) end(s scene, d *scheduletest.Disk, actors []*scheduletest.Actor) error {
	is := func(a *scheduletest.Actor, jobs string) bool { return strings.Contains(jobs, a.Name[:1]) }
	died := slices.ContainsFunc(actors, func(a *scheduletest.Actor) bool { return a.Dead })
	rivals := strings.ContainsAny(s.actors, "BN")
	lost, publishers := 0, 0
	for _, a := range actors {
		if is(a, "ABCMN") {
			publishers++
		}
		if exists := errors.Is(a.Err, regdir.ErrExists); exists && rivals {
			lost++
		} else if a.Err != nil && !a.Dead {
			return fmt.Errorf("%s fails: %w", a.Name, a.Err)
		}
	}
	now, err := look(s, d)
	if !died && err == nil {
		now, err = agree(s, d)
	}
	if err != nil {
		return fmt.Errorf("in the end: %w", err)
	}
	if lost > 0 && lost == publishers && !died && s.start == "" && !strings.ContainsAny(s.actors, "RD") {
		return errors.New("each publisher finds other content")
	}
	published := map[bool]bool{false: s.start == "AC" || s.start == "M"} // whether there is other content
	for _, a := range actors {
		if is(a, "ABCMN") && !a.Dead && a.Err == nil {
			published[is(a, "BN")] = true
		}
	}
	if published[true] && published[false] && !strings.ContainsAny(s.actors, "RD") {
		return errors.New("both contents have been published")
	}
	for _, a := range actors {
		overlapped := slices.ContainsFunc(actors, func(r *scheduletest.Actor) bool {
			return is(r, "RD") && (r.Last > a.First || r.Dead || r.First < 0)
		})
		if !is(a, "ABCMN") || a.Dead || a.Err != nil || overlapped {
			continue
		}
		want := map[byte]string{'A': "linux_amd64", 'B': "windows_amd64", 'C': "darwin_arm64"}[a.Name[0]]
		for _, on := range strings.Fields(want) {
			if !now.listed || now.documents[on] == "" {
				return fmt.Errorf("%s has published %s, listed are %q", a.Name, on, now.platforms)
			}
		}
		if !now.listed {
			return fmt.Errorf("%s has published the version, and it is not listed", a.Name)
		}
	}
	for _, r := range actors {
		published := slices.ContainsFunc(actors, func(a *scheduletest.Actor) bool { return is(a, "ABCMN") && a.Last > r.First })
		if is(r, "RD") && !r.Dead && !published && now.listed {
			return fmt.Errorf("%s has removed the version, and it is there again", r.Name)
		}
	}
	if left := archivesOf(d); !died && s.start == "" && !strings.ContainsAny(s.actors, "RDS") && left != len(now.documents) {
		return fmt.Errorf("%d archives are left, %d are named", left, len(now.documents))
	}
	return c.later(s, d, died)
}

func archivesOf(d *scheduletest.Disk) (n int) {
	for name := range d.Files {
		if strings.HasSuffix(name, ".zip") || strings.HasSuffix(name, ".gz") {
			n++
		}
	}
	return n
}

// later lets one more actor work alone. A sweep leaves the archives that are named.
func (c *checked) later(s scene, d *scheduletest.Disk, died bool) error {
	jobs := []byte{'A', 'R', 'S'}
	if s.isModule() {
		jobs = []byte{'M', 'D', 'S'}
	}
	for _, job := range jobs {
		if !died && job != 'S' {
			continue
		}
		later := d.Clone()
		err := scheduletest.Run(c.actor(s, later, job, 20))
		exists := errors.Is(err, regdir.ErrExists)
		if err != nil && !exists {
			return fmt.Errorf("%c afterwards: %w", job, err)
		}
		now, err := look(s, later)
		if job != 'S' && err == nil && !exists {
			now, err = agree(s, later)
		}
		if err == nil && job != 'S' && !exists && now.listed != (job == jobs[0]) {
			err = fmt.Errorf("listed: %t", now.listed)
		}
		if left := archivesOf(later); err == nil && job == 'S' && !died && left != len(now.documents) {
			err = fmt.Errorf("%d archives are left, %d are named", left, len(now.documents))
		}
		if err != nil {
			return fmt.Errorf("%c afterwards: %w", job, err)
		}
	}
	return nil
}

// check runs all schedules of a scene within limits.
func (c *checked) check(t *testing.T, s scene, max scheduletest.Limits) (runs int, err error) {
	base := (&scheduletest.Disk{Digests: s.digests, Locks: s.locks, Files: map[string]scheduletest.File{}}).Clone()
	synctest.Test(t, func(t *testing.T) {
		for i, job := range []byte(s.start) {
			err = errors.Join(err, scheduletest.Run(c.actor(s, base, job, 10+i)))
		}
	})
	if err != nil {
		return 0, err
	}
	return scheduletest.Explore(t, max, func() ([]*scheduletest.Actor, func() error, func() error) {
		d := base.Clone()
		var actors []*scheduletest.Actor
		for i, job := range []byte(s.actors) {
			actors = append(actors, c.actor(s, d, job, i))
		}
		seen := -1
		after := func() (err error) {
			if n := d.Writes + len(d.Files)<<32; n != seen {
				seen = n
				_, err = look(s, d)
			}
			return err
		}
		return actors, after, func() error { return c.end(s, d, actors) }
	})
}

// TestSchedules runs all schedules of a few actors on one version, of at most two preemptions.
func TestSchedules(t *testing.T) {
	c := newChecked(t)
	rounds := must.Get(scheduletest.Rounds(
		scheduletest.Round{Sets: "AB AC AR AS MN MD", Max: scheduletest.Limits{Preemptions: 2}},
		scheduletest.Round{Sets: "AR", Max: scheduletest.Limits{Preemptions: 1, Deaths: 1}},
		scheduletest.Round{Sets: "ARr", Max: scheduletest.Limits{Preemptions: 1}},
	))(t)
	for _, r := range rounds {
		for _, set := range strings.Fields(r.Sets) {
			for _, s := range scenes(set, len(rounds) == 1) {
				if s.locks && r.Max.Losses > 0 {
					continue // a directory answers
				}
				t.Run(s.String(), func(t *testing.T) {
					runs, err := c.check(t, s, r.Max)
					t.Logf("%d schedules of %+v", runs, r.Max)
					if err != nil {
						t.Error(err)
					}
				})
			}
		}
	}
}

// scenes returns the scenes of a set of actors, by default with digests, which are harder than generations.
func scenes(set string, all bool) (list []scene) {
	starts := []string{"", "AC", "ACR"}
	isModule := strings.ContainsAny(set, "MND")
	switch {
	case isModule:
		starts = []string{"", "M", "MD"}
	case set == "AS":
		starts = []string{"", "ACR"}
	}
	if !all && !strings.ContainsAny(set, "RSD") {
		starts = starts[:1]
	}
	for _, start := range starts {
		list = append(list, scene{actors: set, start: start, digests: true}, scene{actors: set, start: start, digests: true, locks: true})
		if all {
			list = append(list, scene{actors: set, start: start})
		}
	}
	return list
}
