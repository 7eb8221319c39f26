package mirrordir_test

import (
	"archive/zip"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"github.com/tofureg/tofureg/failure"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/scheduletest"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/serve/internal/mirrortest"
	"github.com/tofureg/tofureg/serve/mirrordir"
	"github.com/tofureg/tofureg/storage"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

// build is a source with one archive of alpha 1.0.0.
type build struct {
	content  []byte
	evidence bool // whether it has a SHA256SUMS document
}

func newBuild(t testing.TB, text string, evidence bool) *build {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	must.Get(must.Get(z.Create("terraform-provider-alpha"))(t).Write([]byte(text)))(t)
	must.Do(t, z.Close())
	return &build{b.Bytes(), evidence}
}

func (b *build) zh(ctx context.Context) checksum.Hash {
	zh, _ := checksum.ZH(ctx, bytes.NewReader(b.content)) // a reader in memory never fails
	return zh
}

func (b *build) ProviderVersions(context.Context, addrs.Provider) (*provider.Versions, error) {
	return nil, failure.ErrNotFound
}

func (b *build) ProviderPackage(ctx context.Context, p addrs.Provider, v addrs.Version, platform addrs.Platform) (*provider.Package, error) {
	pkg := &provider.Package{Provider: p, Version: v, Platform: platform, SHA256: b.zh(ctx), URL: "https://example.com/x.zip"}
	if pkg.Filename = pkg.ArchiveName(); b.evidence {
		pkg.SumsURL = "https://example.com/sums"
	}
	return pkg, nil
}

func (b *build) Evidence(ctx context.Context, pkg *provider.Package) (verify.Evidence, error) {
	ev := pkg.Evidence()
	if b.evidence {
		ev.Sums = []byte(strings.TrimPrefix(b.zh(ctx).String(), "zh:") + "  " + pkg.ArchiveName() + "\n")
	}
	return ev, nil
}

func (b *build) Open(context.Context, *provider.Package) (*provider.Body, error) {
	return &provider.Body{ReadCloser: io.NopCloser(bytes.NewReader(b.content)), Size: int64(len(b.content))}, nil
}

// scene is a set of actors on one store: A adds, B adds another build, E adds the build of A from a source without
// evidence, R removes, S sweeps, X reindexes, and r reads.
type scene struct {
	actors         string
	listed         bool // whether the version is there at first, as A adds it
	removed        bool // or was there
	foreign        bool // or as another program has listed the archive of A, with its usual name
	placed         bool // or has only placed it
	digests, locks bool
}

func (s scene) String() string {
	text := s.actors + "/empty"
	if s.listed {
		text = s.actors + "/listed"
	}
	if s.removed {
		text = s.actors + "/removed"
	}
	if s.foreign {
		text = s.actors + "/foreign"
	}
	if s.placed {
		text = s.actors + "/placed"
	}
	switch {
	case s.locks:
		return text + "/locks"
	case s.digests:
		return text + "/digests"
	}
	return text + "/generations"
}

// checked has what the scenes share.
type checked struct {
	builds map[byte]*build
	temp   string
	hashes map[string]string // zh by content

	foreign bool // of the scene
}

// actor returns an actor that does one job. If other is set, an adder does not keep another build.
func (c *checked) actor(d *scheduletest.Disk, job byte, n int, other bool) *scheduletest.Actor {
	a := &scheduletest.Actor{Name: fmt.Sprintf("%c%d", job, n), Store: d}
	a.Do = func(ctx context.Context, s storage.Store) error {
		m := &mirrordir.Mirror{Store: s, TempDir: c.temp}
		count := 0
		mirrordir.SetNonce(m, func() string {
			count++
			return strings.ToLower(string(job)) + string(rune('a'+n)) + strings.Repeat("a", 23) + string(rune('a'+count))
		})
		switch job {
		case 'R':
			return m.Remove(ctx, alpha, v1)
		case 'S':
			return sweep(ctx, m)
		case 'X':
			_, err := m.Reindex(ctx, mirrordir.CheckOptions{})
			return err
		case 'r':
			return c.read(ctx, m, other && d.Locks)
		}
		policy := verify.Policy{AllowUnsigned: true, AllowUnchecked: true}
		if job == 'B' || other {
			policy.Accept = checksum.NewSet(c.builds[job].zh(ctx)) // so that it replaces the other build
		}
		_, err := m.Add(ctx, c.builds[job], wants([]addrs.Platform{linux}, v1), mirrordir.AddOptions{Policy: policyOf(policy)})
		return err
	}
	return a
}

// read reads the package like a client. Between document and archive it may be gone, but is never another one, unless
// archives with usual names are replaced.
func (c *checked) read(ctx context.Context, m *mirrordir.Mirror, replaces bool) error {
	pkg, err := m.ProviderPackage(ctx, alpha, v1, linux)
	if errors.Is(err, failure.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	body, err := m.Open(ctx, pkg)
	if errors.Is(err, failure.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer body.Close()
	data, err := io.ReadAll(body)
	if err == nil && len(pkg.Hashes) > 0 && !replaces && !slices.Contains(pkg.Hashes[linux], checksum.MustParseHash(c.zhOf(data))) {
		err = fmt.Errorf("the client reads an archive with %s, stated are %v", c.zhOf(data), pkg.Hashes[linux])
	}
	return err
}

func (c *checked) zhOf(data []byte) string {
	zh := c.hashes[string(data)]
	if zh == "" {
		zh = (&build{content: data}).zh(context.Background()).String()
		c.hashes[string(data)] = zh
	}
	return zh
}

// recorded is what the document has listed last.
type recorded struct {
	zh       string
	evidence bool
}

// look returns the entry of the document, and whether the index lists the version. It returns an error if they state what is
// not so, or if evidence about the archive that was listed before is lost. was may be nil.
func (c *checked) look(t *testing.T, d *scheduletest.Disk, was *recorded) (entry string, indexed bool, err error) {
	if f, ok := d.Files[home+"/1.0.0.json"]; ok {
		for _, a := range mirrortest.Parse[document](t, string(f.Data)).Archives {
			archive, ok := d.Files[path.Join(home, a.URL)]
			if !ok {
				return "", false, fmt.Errorf("the document names %s, which is missing", a.URL)
			}
			entry = a.URL
			now := recorded{zh: c.zhOf(archive.Data)}
			if !slices.Contains(a.Hashes, now.zh) {
				return "", false, fmt.Errorf("the document states %v for %s, which has %s", a.Hashes, a.URL, now.zh)
			}
			record := cmp.Or(a.Record, "record_"+strings.TrimSuffix(a.URL, ".zip")+".json")
			text, ok := d.Files[path.Join(home, record)]
			if !ok && (a.Record != "" || !c.foreign) {
				return "", false, fmt.Errorf("the record %s of a listed archive is missing", record)
			}
			now.evidence = bytes.Contains(text.Data, []byte(`"sums"`))
			if was != nil {
				if was.zh == now.zh && was.evidence && !now.evidence {
					return "", false, fmt.Errorf("the recorded evidence about %s is lost", a.URL)
				}
				*was = now
			}
		}
	}
	if f, ok := d.Files[home+"/index.json"]; ok {
		_, indexed = mirrortest.Parse[index](t, string(f.Data)).Versions["1.0.0"]
	}
	if indexed && entry == "" {
		err = fmt.Errorf("the index lists a version whose document is missing or empty")
	}
	return entry, indexed, err
}

// alone runs one more actor, without others.
func (c *checked) alone(d *scheduletest.Disk, job byte) error {
	return scheduletest.Run(c.actor(d, job, 20, false))
}

// agree checks that index and document agree.
func (c *checked) agree(t *testing.T, d *scheduletest.Disk) (entry string, err error) {
	entry, indexed, err := c.look(t, d, nil)
	if err == nil && indexed != (entry != "") {
		err = fmt.Errorf("the document has the entry %q, the index lists the version: %t", entry, indexed)
	}
	return entry, err
}

// end checks the state after a run.
func (c *checked) end(t *testing.T, s scene, d *scheduletest.Disk, actors []*scheduletest.Actor) error {
	died := slices.ContainsFunc(actors, func(a *scheduletest.Actor) bool { return a.Dead })
	removers := false
	for _, a := range actors {
		removers = removers || a.Name[0] == 'R'
		if a.Err != nil && !a.Dead {
			return fmt.Errorf("%s fails: %w", a.Name, a.Err)
		}
	}
	entry, indexed, err := c.look(t, d, nil)
	if err != nil {
		return err
	}
	if !died && indexed != (entry != "") {
		return fmt.Errorf("in the end the document has the entry %q, the index lists the version: %t", entry, indexed)
	}
	for _, a := range actors {
		add := a.Name[0] == 'A' || a.Name[0] == 'B' || a.Name[0] == 'E'
		overlapped := slices.ContainsFunc(actors, func(r *scheduletest.Actor) bool {
			removes := r.Name[0] == 'R' || s.locks && r.Dead && r != a && strings.Contains(s.actors, "B") // which replaces in two steps
			return removes && (r.Last > a.First || r.Dead || r.First < 0)
		})
		if !add || a.Dead || overlapped {
			continue
		}
		if entry == "" || !indexed {
			return fmt.Errorf("%s has added the version, which has the entry %q; the index lists it: %t", a.Name, entry, indexed)
		}
	}
	for _, r := range actors {
		added := slices.ContainsFunc(actors, func(a *scheduletest.Actor) bool { return strings.ContainsAny(a.Name[:1], "ABE") && a.Last > r.First })
		if r.Name[0] == 'R' && !r.Dead && !added && entry != "" {
			return fmt.Errorf("%s has removed the version, and it is there again", r.Name)
		}
	}
	if _, ok := d.Files[archive(v1, linux)]; !ok && !removers && (s.foreign || s.placed) {
		return fmt.Errorf("the archive of another program is gone")
	}
	if !died && !removers && !s.removed && !s.placed && !strings.ContainsAny(s.actors, "BS") {
		if n := len(slices.Collect(archivesOf(d))); n > 1 {
			return fmt.Errorf("%d archives are left, want one", n)
		}
	}
	if !died {
		return nil
	}
	for _, job := range []byte{'A', 'R', 'X'} {
		later := d.Clone()
		if err := c.alone(later, job); err != nil {
			return fmt.Errorf("%c after a death: %w", job, err)
		}
		entry, err := c.agree(t, later)
		if err == nil && job != 'X' && (entry != "") != (job == 'A') {
			err = fmt.Errorf("the entry is %q", entry)
		}
		if err != nil {
			return fmt.Errorf("%c after a death: %w", job, err)
		}
	}
	return nil
}

func archivesOf(d *scheduletest.Disk) func(func(string) bool) {
	return func(yield func(string) bool) {
		for name := range maps.Keys(d.Files) {
			if strings.HasSuffix(name, ".zip") && !yield(name) {
				return
			}
		}
	}
}

// check runs all schedules of a scene within limits.
func (c *checked) check(t *testing.T, s scene, max scheduletest.Limits) (runs int, err error) {
	base := (&scheduletest.Disk{Digests: s.digests, Locks: s.locks, Files: map[string]scheduletest.File{}}).Clone()
	if s.listed || s.removed {
		var err error
		synctest.Test(t, func(t *testing.T) {
			if err = c.alone(base, 'A'); err == nil && s.removed {
				err = c.alone(base, 'R')
			}
		})
		if err != nil {
			return 0, err
		}
	}
	a := c.builds['A']
	if c.foreign = s.foreign || s.placed; c.foreign {
		must.Do(t, base.Write(archive(v1, linux), a.content, ""))
	}
	if s.foreign {
		must.Do(t, base.Write(home+"/1.0.0.json", fmt.Appendf(nil, `{"archives":{"linux_amd64":{"hashes":[%q],"url":%q}}}`, a.zh(t.Context()), path.Base(archive(v1, linux))), ""))
		must.Do(t, base.Write(home+"/index.json", []byte(`{"versions":{"1.0.0":{}}}`), ""))
	}
	return scheduletest.Explore(t, max, func() ([]*scheduletest.Actor, func() error, func() error) {
		d := base.Clone()
		var actors []*scheduletest.Actor
		for i, job := range []byte(s.actors) {
			actors = append(actors, c.actor(d, job, i, strings.Contains(s.actors, "B")))
		}
		seen, was := -1, recorded{}
		after := func() error {
			n := d.Writes + len(d.Files)<<32
			if n == seen {
				return nil
			}
			seen = n
			entry, _, err := c.look(t, d, &was)
			if entry == "" && strings.Contains(s.actors, "R") {
				was = recorded{}
			}
			return err
		}
		return actors, after, func() error { return c.end(t, s, d, actors) }
	})
}

// TestSchedules runs all schedules of a few actors on one version: of two writers with at most two preemptions, of three
// actors with one. The flags of scheduletest raise these limits; .ci/run uses them.
func TestSchedules(t *testing.T) {
	c := &checked{
		builds: map[byte]*build{'A': newBuild(t, "one", true), 'B': newBuild(t, "two", true), 'E': newBuild(t, "one", false)},
		temp:   t.TempDir(), hashes: map[string]string{},
	}
	rounds := must.Get(scheduletest.Rounds(
		scheduletest.Round{Sets: "AR AA AB AE AS AX RX RS", Max: scheduletest.Limits{Preemptions: 2}},
		scheduletest.Round{Sets: "AX AR", Max: scheduletest.Limits{Preemptions: 1, Deaths: 1}},
		scheduletest.Round{Sets: "AAR ABR ARS ARX ARr ABr", Max: scheduletest.Limits{Preemptions: 1}},
	))(t)
	for _, r := range rounds {
		for _, set := range strings.Fields(r.Sets) {
			for _, s := range scenes(set) {
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

// scenes returns the scenes of a set of actors.
func scenes(set string) (list []scene) {
	for _, digests := range []bool{false, true} {
		list = append(list, scene{actors: set, digests: digests}, scene{actors: set, digests: digests, listed: true})
		if strings.ContainsAny(set, "RX") && len(set) == 2 {
			list = append(list, scene{actors: set, digests: digests, foreign: true}, scene{actors: set, digests: digests, removed: true})
		}
		if strings.ContainsAny(set, "SX") && len(set) == 2 {
			list = append(list, scene{actors: set, digests: digests, placed: true})
		}
	}
	return append(list, scene{actors: set, digests: true, locks: true}, scene{actors: set, digests: true, locks: true, listed: true})
}
